// SPDX-License-Identifier: Apache-2.0
// The names that a pickled state dict may refer to. They are recognised, never looked up: none of them runs anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/formats/dtype.h"

namespace weft::formats {

/// What an allowed name stands for.
enum class GlobalRole {
  kOrderedDict,
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

}  // namespace weft::formats
