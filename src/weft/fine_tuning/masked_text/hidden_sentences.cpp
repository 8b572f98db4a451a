// SPDX-License-Identifier: Apache-2.0
// Draws by global token, and the two inputs that follow from them.
#include "weft/fine_tuning/masked_text/hidden_sentences.h"

#include <ATen/ops/zeros_like.h>

#include "weft/core/random.h"
#include "weft/data/masking.h"
#include "weft/layers/etc/sentence_structure.h"
#include "weft/models/families/encoder_rules.h"

namespace weft::fine_tuning {
namespace {

// "hide" in ASCII: what is hidden is independent of the masks, of dropout and of the data's order.
constexpr std::uint64_t kHiddenStream = 0x68696465;

/// bool [B, G].
at::Tensor chosen_sentences(const at::Tensor& global_ids, const SentenceDraw& draw) {
  const at::Tensor ids = global_ids.cpu().contiguous();
  at::Tensor chosen = at::zeros_like(ids, at::kBool);
  const std::uint64_t key = random_bits(draw.seed ^ kHiddenStream, static_cast<std::uint64_t>(draw.step),
                                        static_cast<std::uint64_t>(draw.part));
  const auto* const kinds = ids.const_data_ptr<std::int64_t>();
  bool* const out = chosen.mutable_data_ptr<bool>();
  for (std::int64_t at = 0; at < ids.numel(); ++at) {
    const auto row = static_cast<std::uint64_t>(at / ids.size(1));
    const auto global = static_cast<std::uint64_t>(at % ids.size(1));
    const auto bits = static_cast<std::uint32_t>(random_bits(key, row, global));
    out[at] = kinds[at] == static_cast<std::int64_t>(layers::GlobalToken::kSentence) &&
              random_unit(bits) < static_cast<float>(draw.share);
  }
  return chosen.to(global_ids.device());
}

}  // namespace

HiddenSentences hide_sentences(const data::Batch& batch, const models::EncoderConfig& config, std::int64_t mask_id,
                               const SentenceDraw& draw) {
  HiddenSentences found;
  found.seen.input_ids = data::unmasked_ids(batch);
  const layers::TextStructure text = models::encoder_rules(config).structure(config, found.seen.input_ids, {});
  const at::Tensor& sentence = text.structure.sentence;
  found.chosen = chosen_sentences(text.global_ids, draw);
  found.labels = layers::hide_sentences(batch.labels, sentence, found.chosen, data::kIgnoredLabel);
  found.hidden.input_ids = layers::hide_sentences(batch.input_ids, sentence, found.chosen, mask_id);
  found.hidden.companions.input_ids =
      text.global_ids.masked_fill(found.chosen, static_cast<std::int64_t>(layers::GlobalToken::kHiddenSentence));
  found.hidden.companions.mask = text.structure.global_keep.to(at::kLong);
  found.hidden.companions.sentence = sentence;
  found.hidden.companions.paragraph = text.structure.paragraph;
  return found;
}

}  // namespace weft::fine_tuning
