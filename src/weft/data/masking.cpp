// SPDX-License-Identifier: Apache-2.0
// Which positions are predicted, and the 80/10/10 rule.
#include "weft/data/masking.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/random.h"
#include "weft/text/hugging_face.h"
#include "weft/text/tokenizer.h"

namespace weft::data {
namespace {

// "mask" in ASCII: keeps these draws apart from other uses of the same seed.
constexpr std::uint64_t kMaskStream = 0x6D61736B;
// "span": which words begin spans, and what stands in their place.
constexpr std::uint64_t kSpanStream = 0x7370616E;
constexpr double kSpanEnd = 0.2;  // SpanBERT's p of the geometric distribution
constexpr std::int64_t kLongestSpan = 10;

// What the model sees in place of `token`, at a position that it must predict. Of `own`, the position's draw, words 2
// and 3 say which random token; `choice` says which of the three it is.
std::int64_t shown(std::int64_t token, float choice, const Philox4& own, const MaskingOptions& options) {
  if (choice < 0.8F) {
    return options.mask_id;
  }
  if (choice < 0.9F) {
    const std::uint64_t bits = (std::uint64_t{own.value[3]} << 32) | own.value[2];
    return static_cast<std::int64_t>(random_below(bits, static_cast<std::uint64_t>(options.vocabulary)));
  }
  return token;
}

// One row of a batch while it is masked.
class MaskedRow {
 public:
  MaskedRow(std::int64_t* inputs, std::int64_t* labels, std::int64_t length, std::uint64_t key, std::uint64_t number,
            const MaskingOptions& options)
      : inputs_(inputs), labels_(labels), length_(length), key_(key), number_(number), options_(options) {}

  void mask() {
    if (options_.unit == MaskedUnit::kSpans) {
      mask_spans();
    } else {
      mask_units();
    }
    if (predicted_ == 0) {
      // The position that stands in where chance picks none, so that every row has a label. Its counter's low word is
      // one that no position has.
      const auto forced =
          static_cast<std::int64_t>(random_below(random_bits(key_, ~number_), static_cast<std::uint64_t>(length_)));
      predict(forced, random_unit(draw(forced).value[1]));
    }
  }

 private:
  // Of a position's draw, word 0 says whether it is predicted, word 1 what is shown, words 2 and 3 which random token.
  Philox4 draw(std::int64_t position) const { return philox(key_, static_cast<std::uint64_t>(position), number_); }

  void predict(std::int64_t position, float choice) {
    labels_[position] = inputs_[position];
    inputs_[position] = shown(inputs_[position], choice, draw(position), options_);
    ++predicted_;
  }

  bool begins_word(std::int64_t position) const {
    // A position that is masked already keeps its token in its label.
    const std::int64_t token = labels_[position] == kIgnoredLabel ? inputs_[position] : labels_[position];
    return position == 0 || options_.unit == MaskedUnit::kTokens ||
           (*options_.begins_word)[static_cast<std::size_t>(token)];
  }

  // Tokens or words: the first token's draw decides for all of a word.
  void mask_units() {
    bool chosen = false;
    for (std::int64_t position = 0; position < length_; ++position) {
      const Philox4 own = draw(position);
      if (begins_word(position)) {
        chosen = random_unit(own.value[0]) < options_.probability;
      }
      if (chosen) {
        predict(position, random_unit(own.value[1]));
      }
    }
  }

  std::int64_t word_begin(std::int64_t position) const {
    while (!begins_word(position)) {
      --position;
    }
    return position;
  }

  // Geometric, cut at kLongestSpan and scaled to sum to 1 there, by inversion.
  static std::int64_t span_words(float uniform) {
    const double whole = 1 - std::pow(1 - kSpanEnd, kLongestSpan);
    const double words = std::ceil(std::log1p(-whole * static_cast<double>(uniform)) / std::log1p(-kSpanEnd));
    return std::clamp(static_cast<std::int64_t>(words), std::int64_t{1}, kLongestSpan);
  }

  void mask_spans() {
    const auto budget = std::max<std::int64_t>(1, std::llround(options_.probability * static_cast<double>(length_)));
    // Anchors that hit what is masked already are drawn again; at 15% that is one in seven.
    for (std::uint64_t attempt = 0; predicted_ < budget && attempt < 16 * static_cast<std::uint64_t>(length_);
         ++attempt) {
      const Philox4 own = philox(key_ ^ kSpanStream, attempt, number_);
      const std::uint64_t bits = (std::uint64_t{own.value[3]} << 32) | own.value[2];
      const auto anchor = static_cast<std::int64_t>(random_below(bits, static_cast<std::uint64_t>(length_)));
      if (labels_[anchor] == kIgnoredLabel) {
        mask_span(word_begin(anchor), span_words(random_unit(own.value[0])), random_unit(own.value[1]), budget);
      }
    }
  }

  void mask_span(std::int64_t begin, std::int64_t words, float choice, std::int64_t budget) {
    for (std::int64_t position = begin; position < length_ && predicted_ < budget; ++position) {
      words -= begins_word(position) ? 1 : 0;
      if (words < 0 || labels_[position] != kIgnoredLabel) {
        return;
      }
      predict(position, choice);
    }
  }

  std::int64_t* inputs_;
  std::int64_t* labels_;
  std::int64_t length_;
  std::uint64_t key_;
  std::uint64_t number_;
  const MaskingOptions& options_;
  std::int64_t predicted_ = 0;
};

void check_options(const MaskingOptions& options) {
  require(options.vocabulary >= 1 && options.mask_id >= 0, "masking needs a vocabulary and a mask, found ",
          options.vocabulary, " tokens and mask id ", options.mask_id);
  const auto known = static_cast<std::int64_t>(options.begins_word ? options.begins_word->size() : 0);
  require(options.unit == MaskedUnit::kTokens || known >= options.vocabulary,
          "masking words needs to know where they begin for ", options.vocabulary, " tokens, found ", known);
}

}  // namespace

MaskedUnit masked_unit(const std::string& name) {
  if (name == "tokens") {
    return MaskedUnit::kTokens;
  }
  require(name == "words" || name == "spans", "masked units are tokens, words or spans, found ", Quoted(name));
  return name == "words" ? MaskedUnit::kWords : MaskedUnit::kSpans;
}

std::int64_t mask_id_of(const text::Tokenizer& tokenizer, std::int64_t vocabulary) {
  const std::int64_t needed = model_vocabulary(tokenizer, false);
  if (vocabulary < needed) {
    const auto* const published = dynamic_cast<const text::HuggingFaceTokenizer*>(&tokenizer);
    const std::optional<std::int64_t> own =
        published == nullptr ? std::nullopt : published->special(text::SpecialRole::kMask);
    require(own && *own < vocabulary, "vocab_size must be at least ", needed, " (", tokenizer.vocabulary_size(),
            " ids of the tokeniser and the mask), found ", vocabulary);
    return *own;
  }
  return vocabulary - 1;
}

MaskingOptions masking_options(const text::Tokenizer& tokenizer, std::int64_t mask_id, double probability,
                               const std::string& unit, std::int64_t seed) {
  MaskingOptions options{probability, tokenizer.vocabulary_size(), mask_id, static_cast<std::uint64_t>(seed),
                         masked_unit(unit)};
  if (options.unit != MaskedUnit::kTokens) {
    options.begins_word = std::make_shared<const std::vector<bool>>(text::word_beginnings(tokenizer));
  }
  return options;
}

Batch masked_batch(const at::Tensor& tokens, const MaskingOptions& options, std::int64_t step, std::int64_t part) {
  check_options(options);
  Batch batch{tokens.clone(), at::empty_like(tokens).fill_(kIgnoredLabel)};
  const std::uint64_t key =
      random_bits(options.seed ^ kMaskStream, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(part));
  const std::int64_t length = tokens.size(1);
  for (std::int64_t row = 0; row < tokens.size(0); ++row) {
    MaskedRow(batch.input_ids.mutable_data_ptr<std::int64_t>() + row * length,
              batch.labels.mutable_data_ptr<std::int64_t>() + row * length, length, key,
              static_cast<std::uint64_t>(row), options)
        .mask();
  }
  return batch;
}

at::Tensor unmasked_ids(const Batch& batch) {
  return at::where(batch.labels.ne(kIgnoredLabel), batch.labels, batch.input_ids);
}

std::int64_t model_vocabulary(const text::Tokenizer& tokenizer, bool is_decoder) {
  return tokenizer.vocabulary_size() + (is_decoder ? 0 : 1);
}

}  // namespace weft::data
