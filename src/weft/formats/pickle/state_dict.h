// SPDX-License-Identifier: Apache-2.0
// A pickled state dict as a list of tensors: each a view, by offset and strides, of a storage that lies elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/dtype.h"
#include "weft/formats/pickle/value.h"

namespace weft::formats {

struct StoredTensor {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements, at least 0
  std::uint64_t offset = 0;           ///< of its first element, in elements
  std::string storage;                ///< its key
  std::uint64_t storage_bytes = 0;    ///< as the pickle says; the file must agree
  std::uint64_t storage_item = 1;     ///< bytes of what it counts as an element
  std::uint64_t bytes = 0;            ///< of shape and dtype

  /// Whether its elements lie row-major without gaps.
  bool contiguous() const noexcept;
  /// Bytes from its first to behind its last element; 0 when it has none.
  std::uint64_t span_bytes() const noexcept;
};

/// The tensors in the order of the dict, checked: each lies within its storage and no element serves more than its
/// storage has. Errors: kFormat naming `where`, the tensor and the rule.
std::vector<StoredTensor> read_state_dict(const PickleValues& pickle, std::string_view where);

}  // namespace weft::formats
