// SPDX-License-Identifier: Apache-2.0
// The 80/10/10 rule, position by position.
#include "weft/data/masking.h"

#include <ATen/ops/empty_like.h>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft::data {
namespace {

// "mask" in ASCII: keeps these draws apart from other uses of the same seed.
constexpr std::uint64_t kMaskStream = 0x6D61736B;

// What the model sees in place of `token`, at a position that it must predict.
std::int64_t shown(std::int64_t token, const Philox4& draw, const MaskingOptions& options) {
  // Of a position's draw, word 0 says whether it is predicted, word 1 what is shown, words 2 and 3 which random token.
  const float choice = random_unit(draw.value[1]);
  if (choice < 0.8F) {
    return options.mask_id;
  }
  if (choice < 0.9F) {
    const std::uint64_t bits = (std::uint64_t{draw.value[3]} << 32) | draw.value[2];
    return static_cast<std::int64_t>(random_below(bits, static_cast<std::uint64_t>(options.vocabulary)));
  }
  return token;
}

struct Row {
  std::int64_t* inputs;
  std::int64_t* labels;
  std::int64_t length;
};

void mask_row(const Row& row, std::uint64_t key, std::uint64_t number, const MaskingOptions& options) {
  // The position that stands in where chance picks none, so that every row has a label. Its counter's low word is one
  // that no position has.
  const auto forced =
      static_cast<std::int64_t>(random_below(random_bits(key, ~number), static_cast<std::uint64_t>(row.length)));
  std::int64_t predicted = 0;
  const auto predict = [&](std::int64_t position, const Philox4& draw) {
    row.labels[position] = row.inputs[position];
    row.inputs[position] = shown(row.inputs[position], draw, options);
    ++predicted;
  };
  for (std::int64_t position = 0; position < row.length; ++position) {
    const Philox4 draw = philox(key, static_cast<std::uint64_t>(position), number);
    if (random_unit(draw.value[0]) < options.probability) {
      predict(position, draw);
    }
  }
  if (predicted == 0) {
    predict(forced, philox(key, static_cast<std::uint64_t>(forced), number));
  }
}

}  // namespace

Batch masked_batch(const at::Tensor& tokens, const MaskingOptions& options, std::int64_t step, std::int64_t part) {
  require(options.vocabulary >= 1 && options.mask_id >= 0, "masking needs a vocabulary and a mask, found ",
          options.vocabulary, " tokens and mask id ", options.mask_id);
  Batch batch{tokens.clone(), at::empty_like(tokens).fill_(kIgnoredLabel)};
  const std::uint64_t key =
      random_bits(options.seed ^ kMaskStream, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(part));
  const std::int64_t length = tokens.size(1);
  for (std::int64_t row = 0; row < tokens.size(0); ++row) {
    mask_row({batch.input_ids.mutable_data_ptr<std::int64_t>() + row * length,
              batch.labels.mutable_data_ptr<std::int64_t>() + row * length, length},
             key, static_cast<std::uint64_t>(row), options);
  }
  return batch;
}

std::int64_t model_vocabulary(const text::Tokenizer& tokenizer, bool is_decoder) {
  return tokenizer.vocabulary_size() + (is_decoder ? 0 : 1);
}

}  // namespace weft::data
