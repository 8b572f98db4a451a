// SPDX-License-Identifier: Apache-2.0
// What is known of a text and its companions in ETC (Ainslie et al. 2020, section 3.2), whose companions are called
// global tokens: which of them each token of the text belongs to, and where segments end.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "weft/attention/context.h"

namespace weft::attention {

/// Which long token belongs to which global one, and what is padding. Undefined tensors are as if not there.
struct EtcStructure : CompanionStructure {
  at::Tensor sentence = {};        ///< int64 [B, N], the number of a global token, or -1
  at::Tensor paragraph = {};       ///< int64 [B, N], that of a second one, or -1
  at::Tensor linked = {};          ///< int64 [B, N], that of a third one, such as a candidate that is mentioned, or -1
  at::Tensor segment = {};         ///< int64 [B, N]; a window ends where the segment does
  at::Tensor global_segment = {};  ///< int64 [B, G]; between two of them distances have one label
  at::Tensor keep = {};            ///< bool [B, N], false at padding
  at::Tensor global_keep = {};     ///< bool [B, G], false at padding
  at::Tensor sees_all =
      {};  ///< bool [B, G]: these global tokens, a question or [CLS], see all tokens despite hard edges
};

/// Errors: kArgument naming the tensor, unless each that is there has its dtype and shape.
void check_structure(const EtcStructure& structure, std::int64_t batch, std::int64_t tokens, std::int64_t globals);

/// The rows of a batch that `rows`, int64, names.
EtcStructure rows_of_structure(const EtcStructure& structure, const at::Tensor& rows);

/// With `columns` tokens of padding behind the text, which belong to no global token.
EtcStructure with_padding(const EtcStructure& structure, std::int64_t columns);

}  // namespace weft::attention
