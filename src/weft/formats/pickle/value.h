// SPDX-License-Identifier: Apache-2.0
// What a pickle says, as data: a table of values that name each other by number, so that values which contain
// themselves neither leak nor recurse. Calls stay written down; nothing is called. The names that a pickled state dict
// may refer to are recognised, never looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/dtype.h"

namespace weft::formats {

/// What an allowed name stands for.
enum class GlobalRole {
  kOrderedDict,
  kCounter,          ///< (dict,)
  kStorage,          ///< torch.FloatStorage and its kin; without a dtype: bytes
  kDtype,            ///< torch.uint16 and its kin
  kSize,             ///< torch.Size
  kTensor,           ///< (storage, offset, size, stride, ...)
  kTensorWithDtype,  ///< (storage, offset, size, stride, requires_grad, hooks, dtype, ...)
  kParameter,        ///< (tensor, ...)
};

struct Global {
  std::string_view module;
  std::string_view name;
  GlobalRole role;
  std::optional<Dtype> dtype = std::nullopt;
};

/// The allowed name, or null.
const Global* find_global(std::string_view module, std::string_view name);

using ValueId = std::uint32_t;

struct Value {
  enum class Kind { kNone, kBool, kInteger, kFloat, kText, kLong, kGlobal, kTuple, kList, kDict, kPersistent, kCall };

  Kind kind = Kind::kNone;
  std::int64_t integer = 0;        ///< kBool and kInteger
  double number = 0;               ///< kFloat
  std::string_view text;           ///< kText, and the bytes of a kLong too wide for 64 bits; points into the pickle
  const Global* global = nullptr;  ///< kGlobal, and what a kCall calls
  std::vector<ValueId> items;      ///< elements; keys and values in turn; a call's arguments; the identity
};

/// "an integer", "a tuple", ... for messages.
std::string_view kind_name(Value::Kind kind) noexcept;

/// One pickle, read: its values, of which `root` is the one that it stands for.
struct PickleValues {
  std::vector<Value> values;
  ValueId root = 0;
  std::size_t bytes = 0;  ///< how long the pickle was

  const Value& at(ValueId id) const { return values[id]; }
  const Value& top() const { return values[root]; }
};

}  // namespace weft::formats
