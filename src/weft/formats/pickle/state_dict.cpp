// SPDX-License-Identifier: Apache-2.0
// The calls that a pickled state dict writes down, understood: what torch._utils._rebuild_tensor_v2 and its kin would
// have been given.
#include "weft/formats/pickle/state_dict.h"

#include <unordered_set>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/tensor_file.h"

namespace weft::formats {
namespace {

using Kind = Value::Kind;

// Reads one entry of the dict.
class EntryReader {
 public:
  EntryReader(const PickleValues& pickle, std::string_view where, std::string_view name)
      : pickle_(pickle), where_(where) {
    tensor_.name = name;
  }

  StoredTensor read(ValueId id) {
    const Value& call = rebuilding_call(pickle_.at(id));
    constexpr std::size_t kFewest = 4;
    // (storage, offset, size, stride, requires_grad, hooks, ...); version 3 names the dtype behind them.
    const bool with_dtype = call.global->role == GlobalRole::kTensorWithDtype;
    constexpr std::size_t kDtypeArgument = 6;
    if (call.items.size() < (with_dtype ? kDtypeArgument + 1 : kFewest)) {
      reject("its call has ", call.items.size(), " arguments, too few");
    }
    const Global& storage = read_storage(pickle_.at(call.items[0]));
    if (with_dtype) {
      const Value& dtype = pickle_.at(call.items[kDtypeArgument]);
      if (dtype.kind != Kind::kGlobal || dtype.global->role != GlobalRole::kDtype) {
        reject("its dtype must be named, found ", kind_name(dtype.kind));
      }
      tensor_.dtype = *dtype.global->dtype;
    } else {
      tensor_.dtype = storage.dtype.value_or(Dtype::U8);
    }
    tensor_.offset = whole(pickle_.at(call.items[1]), "storage offset");
    tensor_.shape = dimensions(pickle_.at(call.items[2]), "shape");
    tensor_.strides = dimensions(pickle_.at(call.items[3]), "strides");
    check_flags(call, with_dtype ? kDtypeArgument + 1 : kDtypeArgument);
    check_bounds();
    return std::move(tensor_);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    fail(ErrorKind::kFormat, where_, ": tensor ", quote(tensor_.name), ": ", parts...);
  }

  // A parameter is a tensor with a flag around it. Values only name values before them here, so that this ends.
  const Value& rebuilding_call(const Value& entry) const {
    const Value* value = &entry;
    while (value->kind == Kind::kCall && value->global->role == GlobalRole::kParameter && !value->items.empty()) {
      value = &pickle_.at(value->items[0]);
    }
    const bool tensor = value->kind == Kind::kCall && (value->global->role == GlobalRole::kTensor ||
                                                       value->global->role == GlobalRole::kTensorWithDtype);
    if (!tensor) {
      reject("the dict must hold tensors only, found ", kind_name(value->kind));
    }
    return *value;
  }

  // ('storage', type, key, device, elements, view of it or None)
  const Global& read_storage(const Value& value) {
    constexpr std::size_t kFields = 5;
    if (value.kind != Kind::kPersistent || pickle_.at(value.items[0]).kind != Kind::kTuple) {
      reject("its storage must be a stored one, found ", kind_name(value.kind));
    }
    const std::vector<ValueId>& fields = pickle_.at(value.items[0]).items;
    // Views of storages are older than tensors with offsets; torch.save writes None there.
    const bool view = fields.size() == kFields + 1 && pickle_.at(fields[kFields]).kind != Kind::kNone;
    if (fields.size() < kFields || fields.size() > kFields + 1 || view || pickle_.at(fields[0]).text != "storage" ||
        pickle_.at(fields[2]).kind != Kind::kText) {
      reject("its storage must be ('storage', type, key, device, elements)");
    }
    const Value& type = pickle_.at(fields[1]);
    if (type.kind != Kind::kGlobal || type.global->role != GlobalRole::kStorage) {
      reject("the type of its storage must be named, found ", kind_name(type.kind));
    }
    tensor_.storage = pickle_.at(fields[2]).text;
    const std::uint64_t elements = whole(pickle_.at(fields[4]), "storage size");
    tensor_.storage_item = dtype_size(type.global->dtype.value_or(Dtype::U8));
    // For version 3 the storage counts bytes, and the tensor knows its own dtype.
    if (__builtin_mul_overflow(elements, tensor_.storage_item, &tensor_.storage_bytes)) {
      reject("the size of its storage overflows 64 bits");
    }
    return *type.global;
  }

  std::uint64_t whole(const Value& value, std::string_view what) const {
    if (value.kind != Kind::kInteger || value.integer < 0) {
      reject("its ", what, " must be an integer of at least 0, found ",
             value.kind == Kind::kInteger ? concat(value.integer) : std::string(kind_name(value.kind)));
    }
    return static_cast<std::uint64_t>(value.integer);
  }

  std::vector<std::int64_t> dimensions(const Value& value, std::string_view what) const {
    // Sizes are plain tuples, or torch.Size called with one.
    const bool size = value.kind == Kind::kCall && value.global->role == GlobalRole::kSize && value.items.size() == 1;
    const Value& list = size ? pickle_.at(value.items[0]) : value;
    if (list.kind != Kind::kTuple || list.items.size() > kMaximumDimensions) {
      reject("its ", what, " must be a tuple of at most ", kMaximumDimensions, " integers, found ",
             kind_name(list.kind));
    }
    std::vector<std::int64_t> result;
    result.reserve(list.items.size());
    for (const ValueId id : list.items) {
      result.push_back(static_cast<std::int64_t>(whole(pickle_.at(id), what)));
    }
    return result;
  }

  // The last argument may say that values are to be conjugated or negated when read.
  void check_flags(const Value& call, std::size_t index) const {
    if (call.items.size() <= index) {
      return;
    }
    const Value& flags = pickle_.at(call.items[index]);
    if (flags.kind != Kind::kNone && !(flags.kind == Kind::kDict && flags.items.empty())) {
      reject("conjugated and negated views are not read");
    }
  }

  // The last element, not only the first, must lie in the storage; and a view may repeat no element (stride 0), or a
  // few bytes would stand for terabytes.
  void check_bounds() {
    if (tensor_.shape.size() != tensor_.strides.size()) {
      reject("it has ", tensor_.shape.size(), " dimensions, but ", tensor_.strides.size(), " strides");
    }
    std::uint64_t count = 1;
    std::uint64_t last = tensor_.offset;
    bool overflow = false;
    bool empty = false;
    for (std::size_t i = 0; i < tensor_.shape.size(); ++i) {
      const auto length = static_cast<std::uint64_t>(tensor_.shape[i]);
      std::uint64_t reach = 0;
      empty = empty || length == 0;
      overflow = __builtin_mul_overflow(count, length, &count) || overflow;
      overflow = __builtin_mul_overflow(length - (length > 0 ? 1 : 0), static_cast<std::uint64_t>(tensor_.strides[i]),
                                        &reach) ||
                 overflow;
      overflow = __builtin_add_overflow(last, reach, &last) || overflow;
    }
    const std::uint64_t elements = tensor_.storage_bytes / dtype_size(tensor_.dtype);
    if (overflow || (!empty && (count > elements || last >= elements))) {
      reject("its shape, strides and offset reach beyond its storage of ", elements, " elements");
    }
    tensor_.bytes = empty ? 0 : count * dtype_size(tensor_.dtype);
    // Where a tensor without elements begins means nothing, and need not lie in the file.
    tensor_.offset = empty ? 0 : tensor_.offset;
  }

  const PickleValues& pickle_;
  std::string_view where_;
  StoredTensor tensor_;
};

}  // namespace

bool StoredTensor::contiguous() const noexcept {
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0 && bytes > 0;) {
    if (shape[i] != 1 && strides[i] != expected) {
      return false;
    }
    expected *= shape[i];
  }
  return true;
}

std::uint64_t StoredTensor::span_bytes() const noexcept {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < shape.size() && bytes > 0; ++i) {
    last += static_cast<std::uint64_t>(shape[i] - 1) * static_cast<std::uint64_t>(strides[i]);
  }
  return bytes > 0 ? (last + 1) * dtype_size(dtype) : 0;
}

std::vector<StoredTensor> read_state_dict(const PickleValues& pickle, std::string_view where) {
  const Value& dict = pickle.top();
  if (dict.kind != Kind::kDict) {
    fail(ErrorKind::kFormat, where, ": not a state dict: expected a dict of tensors, found ", kind_name(dict.kind));
  }
  std::vector<StoredTensor> tensors;
  // Python keeps the last of two equal keys; a file that has both was not written by torch.save.
  std::unordered_set<std::string_view> names;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const Value& key = pickle.at(dict.items[i]);
    if (key.kind != Kind::kText) {
      fail(ErrorKind::kFormat, where, ": not a state dict: a name must be a string, found ", kind_name(key.kind));
    }
    if (!names.insert(key.text).second) {
      fail(ErrorKind::kFormat, where, ": the name ", quote(key.text), " appears twice");
    }
    tensors.push_back(EntryReader(pickle, where, key.text).read(dict.items[i + 1]));
  }
  return tensors;
}

}  // namespace weft::formats
