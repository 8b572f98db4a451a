// SPDX-License-Identifier: Apache-2.0
// The instructions, as Python's pickletools names them, one small function each. All sizes are little-endian, but for
// BINFLOAT.
#include "weft/formats/pickle/machine.h"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft::formats {
namespace {

using Kind = Value::Kind;

// A stack of numbers of values, the marks in it, and the memo that lets a value be named again.
class Machine {
 public:
  Machine(std::string_view bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  // Runs until STOP; every instruction is one byte, its arguments follow in the bytes or lie on the stack.
  PickleValues run() {
    while (!stopped_) {
      operation_ = position_;
      const auto code = static_cast<unsigned char>(take(1)[0]);
      const Instruction instruction = instructions()[code];
      if (instruction == nullptr) {
        reject("the instruction 0x", hexadecimal(code), " is not one that state dicts need");
      }
      (this->*instruction)();
    }
    result_.root = pop();
    result_.bytes = position_;
    return std::move(result_);
  }

 private:
  using Instruction = void (Machine::*)();
  using Table = std::array<Instruction, 256>;

  static Table make_table() {
    Table table{};
    const std::pair<unsigned char, Instruction> rows[] = {
        // PROTO, FRAME, STOP, MARK
        {0x80, &Machine::protocol},
        {0x95, &Machine::frame},
        {'.', &Machine::stop},
        {'(', &Machine::mark},
        // NONE, NEWTRUE, NEWFALSE, BININT, BININT1, BININT2, LONG1, BINFLOAT
        {'N', &Machine::none},
        {0x88, &Machine::boolean<true>},
        {0x89, &Machine::boolean<false>},
        {'J', &Machine::integer<std::int32_t>},
        {'K', &Machine::integer<std::uint8_t>},
        {'M', &Machine::integer<std::uint16_t>},
        {0x8a, &Machine::wide_integer},
        {'G', &Machine::floating},
        // BINUNICODE, the strings of Python 2 (BINSTRING, SHORT_BINSTRING), SHORT_BINUNICODE, BINUNICODE8
        {'X', &Machine::text<std::uint32_t>},
        {'T', &Machine::text<std::uint32_t>},
        {'U', &Machine::text<std::uint8_t>},
        {0x8c, &Machine::text<std::uint8_t>},
        {0x8d, &Machine::text<std::uint64_t>},
        // EMPTY_LIST, EMPTY_TUPLE, EMPTY_DICT, TUPLE1 to TUPLE3, TUPLE
        {']', &Machine::empty<Kind::kList>},
        {')', &Machine::empty<Kind::kTuple>},
        {'}', &Machine::empty<Kind::kDict>},
        {0x85, &Machine::tuple<1>},
        {0x86, &Machine::tuple<2>},
        {0x87, &Machine::tuple<3>},
        {'t', &Machine::marked_tuple},
        // APPEND, APPENDS, SETITEM, SETITEMS
        {'a', &Machine::append},
        {'e', &Machine::append_marked},
        {'s', &Machine::set_item},
        {'u', &Machine::set_marked_items},
        // BINPUT, LONG_BINPUT, MEMOIZE, BINGET, LONG_BINGET
        {'q', &Machine::put<std::uint8_t>},
        {'r', &Machine::put<std::uint32_t>},
        {0x94, &Machine::memoize},
        {'h', &Machine::recall<std::uint8_t>},
        {'j', &Machine::recall<std::uint32_t>},
        // GLOBAL, STACK_GLOBAL, BINPERSID, REDUCE, BUILD
        {'c', &Machine::global_by_lines},
        {0x93, &Machine::global_from_stack},
        {'Q', &Machine::persistent},
        {'R', &Machine::call},
        {'b', &Machine::build},
    };
    for (const auto& [code, instruction] : rows) {
      table[code] = instruction;
    }
    return table;
  }

  static const Table& instructions() {
    static const Table table = make_table();
    return table;
  }

  template <typename... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    fail(ErrorKind::kFormat, where_, ": not a state dict that can be read: ", concat(parts...), " (byte ", operation_,
         " of the pickle)");
  }

  // Lengths are compared with what is left before anything is made of them: a claim of 2^64 bytes costs nothing.
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - position_) {
      reject("it ends too early: ", count, " bytes more are asked for, ", bytes_.size() - position_, " are there");
    }
    const std::string_view taken = bytes_.substr(position_, count);
    position_ += count;
    return taken;
  }

  template <typename Integer>
  Integer take_integer() {
    Integer value = 0;
    take(sizeof(value)).copy(reinterpret_cast<char*>(&value), sizeof(value));
    return value;
  }

  void push(ValueId id) { stack_.push_back(id); }
  // A value is some eighty bytes and may cost one byte of pickle: hence the cap.
  void push(Value value) {
    if (result_.values.size() >= kMostPickleValues) {
      reject("it has more than ", kMostPickleValues, " values");
    }
    push(static_cast<ValueId>(result_.values.size()));
    result_.values.push_back(std::move(value));
  }

  // Nothing below the last mark can be taken.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  void need(std::size_t count) const {
    if (stack_.size() - floor() < count) {
      reject("an instruction takes ", count, " values, the stack has ", stack_.size() - floor());
    }
  }
  ValueId pop() {
    need(1);
    const ValueId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  std::vector<ValueId> pop_many(std::size_t count) {
    need(count);
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<ValueId> ids(first, stack_.end());
    stack_.erase(first, stack_.end());
    return ids;
  }
  std::vector<ValueId> pop_to_mark() {
    if (marks_.empty()) {
      reject("an instruction needs a mark, and there is none");
    }
    std::vector<ValueId> ids = pop_many(stack_.size() - marks_.back());
    marks_.pop_back();
    return ids;
  }
  // The container that an instruction adds to, which it leaves on the stack.
  Value& top(Kind kind) {
    need(1);
    Value& value = result_.values[stack_.back()];
    if (value.kind != kind) {
      reject("an instruction changes ", kind_name(kind), ", found ", kind_name(value.kind));
    }
    return value;
  }

  // Protocols 0 and 1 have instructions of their own; torch.save writes 2 unless told otherwise.
  void protocol() {
    const auto version = take_integer<std::uint8_t>();
    if (version < 2 || version > 5) {
      reject("its protocol is ", static_cast<int>(version), "; 2 to 5 are read");
    }
  }
  // A hint for buffered reading; what it says is not needed.
  void frame() { take(sizeof(std::uint64_t)); }
  void stop() {
    stopped_ = true;
    if (stack_.size() != 1 || !marks_.empty()) {
      reject("it ends with ", stack_.size(), " values on the stack instead of one");
    }
  }
  void mark() {
    // Tensors nest three levels deep.
    constexpr std::size_t kMostMarks = 1000;
    if (marks_.size() == kMostMarks) {
      reject("it nests more than ", kMostMarks, " levels deep");
    }
    marks_.push_back(stack_.size());
  }
  void none() { push(Value{}); }
  template <bool value>
  void boolean() {
    push(Value{.kind = Kind::kBool, .integer = value ? 1 : 0});
  }
  template <typename Integer>
  void integer() {
    push(Value{.kind = Kind::kInteger, .integer = take_integer<Integer>()});
  }
  // Two's complement in as few bytes as hold it.
  void wide_integer() {
    const std::string_view digits = take(take_integer<std::uint8_t>());
    if (digits.size() > sizeof(std::int64_t)) {
      push(Value{.kind = Kind::kLong, .text = digits});
      return;
    }
    const bool negative = !digits.empty() && (digits.back() & 0x80) != 0;
    std::int64_t value = negative ? -1 : 0;
    digits.copy(reinterpret_cast<char*>(&value), digits.size());
    push(Value{.kind = Kind::kInteger, .integer = value});
  }
  // Big-endian, the only such number in a pickle.
  void floating() {
    const auto bits = __builtin_bswap64(take_integer<std::uint64_t>());
    push(Value{.kind = Kind::kFloat, .number = std::bit_cast<double>(bits)});
  }
  template <typename Length>
  void text() {
    push(Value{.kind = Kind::kText, .text = take(take_integer<Length>())});
  }
  template <Kind kind>
  void empty() {
    push(Value{.kind = kind});
  }
  template <std::size_t count>
  void tuple() {
    push(Value{.kind = Kind::kTuple, .items = pop_many(count)});
  }
  void marked_tuple() { push(Value{.kind = Kind::kTuple, .items = pop_to_mark()}); }

  void append() {
    const ValueId item = pop();
    extend(top(Kind::kList), {item});
  }
  void append_marked() {
    const std::vector<ValueId> items = pop_to_mark();
    extend(top(Kind::kList), items);
  }
  void set_item() {
    const std::vector<ValueId> pair = pop_many(2);
    extend(top(Kind::kDict), pair);
  }
  void set_marked_items() {
    const std::vector<ValueId> pairs = pop_to_mark();
    if (pairs.size() % 2 != 0) {
      reject("a dict is given a key without a value");
    }
    extend(top(Kind::kDict), pairs);
  }
  // A dict keeps keys and values in turn; whether a key repeats is for the reader of the dict to say.
  void extend(Value& container, const std::vector<ValueId>& items) {
    container.items.insert(container.items.end(), items.begin(), items.end());
  }

  template <typename Index>
  void put() {
    need(1);
    memo_[take_integer<Index>()] = stack_.back();
    check_memo();
  }
  void memoize() {
    need(1);
    memo_[static_cast<std::uint32_t>(memo_.size())] = stack_.back();
    check_memo();
  }
  // The memo grows by one for each instruction, without a value of its own.
  void check_memo() const {
    if (memo_.size() > kMostPickleValues) {
      reject("it remembers more than ", kMostPickleValues, " values");
    }
  }
  template <typename Index>
  void recall() {
    const std::uint32_t index = take_integer<Index>();
    const auto found = memo_.find(index);
    if (found == memo_.end()) {
      reject("it recalls value ", index, ", which it never remembered");
    }
    push(found->second);
  }

  // Two lines of text, as protocol 2 writes names; protocol 4 has them on the stack.
  void global_by_lines() {
    const std::string_view module = take_line();
    push_global(module, take_line());
  }
  std::string_view take_line() {
    const std::size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos) {
      reject("a name has no end");
    }
    const std::string_view line = take(end - position_);
    take(1);
    return line;
  }
  void global_from_stack() {
    const std::vector<ValueId> names = pop_many(2);
    const Value& module = result_.at(names[0]);
    const Value& name = result_.at(names[1]);
    if (module.kind != Kind::kText || name.kind != Kind::kText) {
      reject("a name must be two strings");
    }
    push_global(module.text, name.text);
  }
  // The one place where a name is judged: before it is ever put on the stack.
  void push_global(std::string_view module, std::string_view name) {
    const Global* global = find_global(module, name);
    if (global == nullptr) {
      reject("it names ", quote(concat(module, ".", name)), ", which is not among the names that state dicts need");
    }
    push(Value{.kind = Kind::kGlobal, .global = global});
  }

  // torch.save names its storages this way; what the identity says is read with the tensor.
  void persistent() { push(Value{.kind = Kind::kPersistent, .items = {pop()}}); }

  // Nothing is called: the name and its arguments become a value that a reader may understand.
  void call() {
    const Value& arguments = result_.at(pop());
    const Value& callee = result_.at(pop());
    if (callee.kind != Kind::kGlobal || arguments.kind != Kind::kTuple) {
      reject("a call needs a name and a tuple, found ", kind_name(callee.kind), " and ", kind_name(arguments.kind));
    }
    // A tuple may be named again and again; each call copies it.
    constexpr std::size_t kMostArguments = 16;
    if (arguments.items.size() > kMostArguments) {
      reject("a call has ", arguments.items.size(), " arguments, at most ", kMostArguments, " are read");
    }
    const bool dict = callee.global->role == GlobalRole::kOrderedDict;
    if (dict && !arguments.items.empty()) {
      reject("an OrderedDict is made from arguments; only an empty one that is filled later is read");
    }
    push(Value{
        .kind = dict ? Kind::kDict : Kind::kCall, .global = dict ? nullptr : callee.global, .items = arguments.items});
  }

  // Sets attributes of an object. State dicts set only `_metadata`, module versions that no tensor depends on.
  void build() {
    pop();
    need(1);
    const Kind kind = result_.at(stack_.back()).kind;
    if (kind != Kind::kDict && kind != Kind::kCall) {
      reject("attributes are set on ", kind_name(kind));
    }
  }

  std::string_view bytes_;
  std::string_view where_;
  std::size_t position_ = 0;
  std::size_t operation_ = 0;  // where the instruction began
  bool stopped_ = false;
  PickleValues result_;
  std::vector<ValueId> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, ValueId> memo_;
};

}  // namespace

std::string_view kind_name(Value::Kind kind) noexcept {
  constexpr std::string_view kNames[] = {"None",   "a boolean", "an integer", "a float", "a string",  "an integer",
                                         "a name", "a tuple",   "a list",     "a dict",  "a storage", "a call"};
  return kNames[static_cast<std::size_t>(kind)];
}

PickleValues read_pickle(std::string_view bytes, std::string_view where) { return Machine(bytes, where).run(); }

}  // namespace weft::formats
