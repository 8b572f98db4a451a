// SPDX-License-Identifier: Apache-2.0
// The parser: the operators by recursive descent, arguments by the table of names. The depth is checked before each
// descent.
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/pattern/language/mechanism_names.h"
#include "weft/pattern/language/names.h"

namespace weft::pattern {
namespace {

constexpr int kMaximumDepth = 64;  // levels of the grammar, so that no text exhausts the stack

/// Each rule of the grammar is a function that takes its tokens and returns what they mean.
class Parser {
 public:
  Parser(std::string_view source, const std::filesystem::path& directory)
      : source_(source), directory_(directory), tokens_(tokenize(source)) {}

  NodePtr run() {
    NodePtr root = pattern();
    if (peek().kind != TokenKind::kEnd) {
      fail_at(source_, peek().where, "expected '|', '&' or the end, found " + describe(peek()));
    }
    check_plans(source_, *root);
    return root;
  }

 private:
  // The last token is the end, and stays it however far one looks or takes.
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& take() { return tokens_[std::min(at_++, tokens_.size() - 1)]; }

  bool accept(char symbol) {
    const bool found = peek().is(symbol);
    at_ += found ? 1 : 0;
    return found;
  }

  void expect(char symbol, const char* expected) {
    if (!accept(symbol)) {
      fail_at(source_, peek().where, concat("expected ", expected, ", found ", describe(peek())));
    }
  }

  /// pattern = intersection { "|" intersection }
  NodePtr pattern() {
    std::vector<NodePtr> terms{intersection()};
    while (accept('|')) {
      terms.push_back(intersection());
    }
    return any_of(std::move(terms));
  }

  /// intersection = unary { "&" unary }
  NodePtr intersection() {
    std::vector<NodePtr> terms{unary()};
    while (accept('&')) {
      terms.push_back(unary());
    }
    return all_of(std::move(terms));
  }

  /// One level down; every cycle of the grammar passes here.
  template <typename Rule>
  NodePtr deeper(const Token& at, const Rule& rule) {
    if (depth_ == kMaximumDepth) {
      fail_at(source_, at.where, concat("expressions nest at most ", kMaximumDepth, " deep"));
    }
    ++depth_;
    NodePtr node = rule();
    --depth_;
    return node;
  }

  /// unary = "!" unary | "(" pattern ")" | call
  NodePtr unary() {
    const Token& token = take();
    if (token.is('!')) {
      return complement(deeper(token, [this] { return unary(); }));
    }
    if (token.is('(')) {
      NodePtr inner = deeper(token, [this] { return pattern(); });
      expect(')', "')'");
      return inner;
    }
    if (token.kind != TokenKind::kName) {
      fail_at(source_, token.where, "expected a pattern, found " + describe(token));
    }
    return deeper(token, [&] { return call(token); });
  }

  /// call = name [ "(" [ argument { "," argument } ] ")" ]; its name has been taken.
  NodePtr call(const Token& token) {
    const Name* name = find_name(token.text);
    if (name == nullptr) {
      fail_unknown(token);
    }
    Call call{source_, name->name, token.where, name->parameters, {}, {}, directory_};
    call.arguments.resize(name->parameters.size());
    if (accept('(')) {
      while (!peek().is(')')) {
        name->variadic ? head_share(call) : argument(call, *name);
        if (!accept(',')) {
          break;
        }
      }
      expect(')', "',' or ')'");
    }
    if (name->variadic && call.terms.empty()) {
      fail_at(source_, token.where, concat(name->name, " needs a pattern: ", name->usage));
    }
    return name->build(call);
  }

  [[noreturn]] void fail_unknown(const Token& token) const {
    if (token.text == "input" || token.text == "layer") {
      fail_at(source_, token.where,
              token.text == "input" ? "'input' can only be written inside global(...)"
                                    : "'layer' can only be written in place of a number");
    }
    refuse_mechanism_name(source_, token, ", so that it has no graph; weft bench mechanisms measures it");
    fail_at(source_, token.where,
            concat("unknown name ", describe(token), suggestion(token.text, all_names(), "names")));
  }

  /// A term of heads(...) = [ count "*" ] pattern
  void head_share(Call& call) {
    const Token& first = peek();
    HeadShare share;
    if (first.kind == TokenKind::kInteger) {
      if (first.integer < 1 || first.integer > (std::int64_t{1} << 31)) {
        fail_at(source_, first.where, concat("a count of heads must be in [1, 2^31], found ", first.text));
      }
      share.count = take().integer;
      expect('*', "'*' and a pattern");
    }
    if (!call.terms.empty() && share.count.has_value() != call.terms.front().count.has_value()) {
      fail_at(source_, first.where, "either every pattern of heads has a count, or none has");
    }
    const Token& start = peek();
    share.pattern = pattern();
    if (any_node(*share.pattern, [](const Node& node) { return node.kind() == NodeKind::kHeads; })) {
      fail_at(source_, start.where, "heads inside heads");
    }
    call.terms.push_back(std::move(share));
  }

  /// argument = [ key "=" ] value
  void argument(Call& call, const Name& name) {
    const Token& first = peek();
    const bool keyed = first.kind == TokenKind::kName && peek(1).is('=');
    const std::size_t index = keyed ? keyed_index(name, first) : positional_index(call, name, first);
    if (call.arguments[index]) {
      fail_at(source_, first.where, concat("'", name.parameters[index].name, "' is given twice"));
    }
    at_ += keyed ? 2 : 0;
    call.arguments[index] = value(name, name.parameters[index]);
  }

  std::size_t keyed_index(const Name& name, const Token& key) const {
    std::vector<std::string_view> known;
    for (const Parameter& parameter : name.parameters) {
      if (parameter.name == key.text && parameter.kind == ParameterKind::kInput) {
        fail_at(source_, key.where, concat("'", key.text, "' takes no value: ", name.usage));
      }
      if (parameter.name == key.text) {
        return known.size();
      }
      known.push_back(parameter.name);
    }
    const std::string hint = known.empty() ? "" : suggestion(key.text, known, "arguments");
    fail_at(source_, key.where, concat(name.name, " has no argument ", describe(key), hint));
  }

  /// The first parameter without a value that may be given by place; `input` has a place of its own.
  std::size_t positional_index(const Call& call, const Name& name, const Token& token) const {
    const bool is_input = token.kind == TokenKind::kName && token.text == "input";
    for (std::size_t i = 0; i < name.parameters.size(); ++i) {
      const Parameter& parameter = name.parameters[i];
      if (is_input ? parameter.kind == ParameterKind::kInput : parameter.positional && !call.arguments[i]) {
        return i;
      }
    }
    const bool is_value = token.kind != TokenKind::kSymbol || token.is('[') || token.is('(') || token.is('!');
    fail_at(source_, token.where,
            concat(is_value ? "no argument is left for " : "expected an argument, found ", describe(token), ": ",
                   name.usage));
  }

  /// The table says what kind of value the parameter takes, so that an error can say what was expected.
  Argument value(const Name& name, const Parameter& parameter) {
    const std::size_t begin = peek().where.begin;
    Argument argument;
    switch (parameter.kind) {
      case ParameterKind::kInteger:
        argument.integer = integer(concat(name.name, ": ", parameter.name), parameter.minimum);
        break;
      case ParameterKind::kReal:
        argument.real = real(name, parameter);
        break;
      case ParameterKind::kString:
      case ParameterKind::kWord:
        argument.text = choice(name, parameter);
        break;
      case ParameterKind::kList:
        argument.list = list(concat(name.name, ": ", parameter.name));
        break;
      case ParameterKind::kInput:
        take();
        break;
      case ParameterKind::kPattern:
        argument.pattern = pattern();
        break;
    }
    argument.where = {begin, tokens_[at_ - 1].where.end};
    return argument;
  }

  /// A whole number in [minimum, 2^62], or `layer`.
  Size integer(const std::string& what, std::int64_t minimum) {
    const Token& token = take();
    if (token.kind == TokenKind::kName && token.text == "layer") {
      return {0, true};
    }
    if (token.kind != TokenKind::kInteger) {
      fail_at(source_, token.where, concat(what, " must be a whole number, found ", describe(token)));
    }
    if (token.integer < minimum || token.integer > kMaximumSize) {
      const bool low = token.integer < minimum;
      fail_at(source_, token.where,
              concat(what, low ? " must be at least " : " must be at most ", low ? minimum : kMaximumSize, ", found ",
                     token.text));
    }
    return {token.integer};
  }

  double real(const Name& name, const Parameter& parameter) {
    const Token& token = take();
    const bool number = token.kind == TokenKind::kReal || token.kind == TokenKind::kInteger;
    if (!number || token.real < 0 || token.real > 1) {
      fail_at(source_, token.where,
              concat(name.name, ": ", parameter.name, " must be a number in [0, 1], found ", describe(token)));
    }
    return token.real;
  }

  /// A string or a word, one of the choices where the parameter has any.
  std::string choice(const Name& name, const Parameter& parameter) {
    const Token& token = take();
    const bool quoted = parameter.kind == ParameterKind::kString;
    const bool right_kind = token.kind == (quoted ? TokenKind::kString : TokenKind::kName);
    const auto& choices = parameter.choices;
    if (right_kind && (choices.empty() || std::find(choices.begin(), choices.end(), token.text) != choices.end())) {
      return std::string(token.text);
    }
    const char* mark = quoted ? "\"" : "";
    const std::string expected =
        choices.empty() ? "a string"
                        : joined(choices, ", ", [&](std::string_view option) { return concat(mark, option, mark); });
    fail_at(source_, token.where,
            concat(name.name, ": ", parameter.name, " must be ", choices.size() > 1 ? "one of " : "", expected,
                   ", found ", describe(token)));
  }

  /// list = "[" [ integer { "," integer } ] "]"
  std::vector<std::int64_t> list(const std::string& what) {
    expect('[', "a list such as [0, 7]");
    std::vector<std::int64_t> values;
    while (!peek().is(']')) {
      if (peek().kind != TokenKind::kInteger) {
        fail_at(source_, peek().where, concat(what, " must be a list of whole numbers, found ", describe(peek())));
      }
      values.push_back(integer(what, 0).value);
      if (!accept(',')) {
        break;
      }
    }
    expect(']', "',' or ']'");
    return values;
  }

  std::string_view source_;
  const std::filesystem::path& directory_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

NodePtr parse_node(std::string_view expression, const std::filesystem::path& directory) {
  return Parser(expression, directory).run();
}

}  // namespace weft::pattern
