// SPDX-License-Identifier: Apache-2.0
// Ids in the storage of keys, which grows and is reordered as that of any state.
#include "weft/attention/state/whole_text.h"

#include "weft/attention/state/state_checks.h"

namespace weft::attention {

void WholeText::append_ids(const at::Tensor& ids) {
  const at::Tensor rows = ids.unsqueeze(1).unsqueeze(3);
  append(rows, rows);
}

void WholeText::limit(std::int64_t tokens) {
  fail(ErrorKind::kUnsupported, "decoding state, layer ", layer_, ": cannot forget all but the last ", tokens,
       " tokens, because each new token is computed with the whole text");
}

NamedTensors WholeText::save() const {
  return length_ == 0 ? NamedTensors() : NamedTensors{{"ids", ids(length_).clone(at::MemoryFormat::Contiguous)}};
}

void WholeText::load(const NamedTensors& tensors, std::int64_t length) {
  const at::Tensor ids = named(tensors, "ids");
  const bool fits = length == 0 ? tensors.empty()
                                : tensors.size() == 1 && ids.defined() && ids.scalar_type() == at::kLong &&
                                      ids.dim() == 2 && ids.size(1) == length;
  if (!fits) {
    fail(ErrorKind::kFormat, "decoding state, layer ", layer_, ": expected `ids` int64 [batch, ", length, "] alone");
  }
  truncate(0);
  if (length > 0) {
    append_ids(ids);
    advance();
  }
}

}  // namespace weft::attention
