// SPDX-License-Identifier: Apache-2.0
// The companions of ETC (Ainslie et al. 2020), its global tokens: ids that a call brings, with tables and a norm of
// embeddings like those of the text.
#pragma once

#include <memory>

#include "weft/attention/mechanisms/etc/etc_structure.h"
#include "weft/layers/blocks/companion_source.h"
#include "weft/layers/embeddings.h"

namespace weft::layers {

/// G global tokens for each of B texts, and what is known of both.
class EtcCompanions : public CompanionInput {
 public:
  std::shared_ptr<const CompanionInput> chosen(const at::Tensor& rows) const override;
  std::shared_ptr<const CompanionInput> padded(std::int64_t columns) const override;

  at::Tensor ids;               ///< int64 [B, G], inside their table
  at::Tensor token_types = {};  ///< int64 [B, G]; undefined: all 0
  std::shared_ptr<const attention::EtcStructure> structure;
};

/// Embeds the ids of EtcCompanions. The stack has them as its module `globals`. Errors of a call: kArgument where it
/// brings none.
CompanionFactory etc_companions(const EmbeddingsConfig& config);

}  // namespace weft::layers
