// SPDX-License-Identifier: Apache-2.0
// A tokeniser is read from a folder: the new one lies in a temporary one until the first checkpoint holds it.
#include "weft/fine_tuning/pairs/joint_vocabulary.h"

#include <string>

#include "weft/core/disk/scratch_file.h"
#include "weft/core/error.h"
#include "weft/core/progress.h"
#include "weft/fine_tuning/denoising/denoiser.h"
#include "weft/formats/config_json.h"
#include "weft/text/train_tokenizer.h"

namespace weft::fine_tuning {
namespace {

constexpr std::int64_t kSmallest = 261;  // special tokens and bytes

// Special tokens behind all others, the first sentinel last, as T5 numbers them.
std::string with_sentinels(const std::string& tokenizer) {
  formats::Json json = formats::parse_json(tokenizer, "the vocabulary");
  const auto first = static_cast<std::int64_t>(json.at("model").at("vocab").size());
  for (std::int64_t number = 0; number < kSentinels; ++number) {
    json["added_tokens"].push_back({{"id", first + number},
                                    {"content", sentinel_name(kSentinels - 1 - number)},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  }
  return formats::print_json(json);
}

}  // namespace

std::shared_ptr<const text::HuggingFaceTokenizer> learn_joint_vocabulary(const PairConfig& config, PairTexts& texts) {
  ProgressBar bar("learning a vocabulary", 0);
  bar.keep_showing();  // learning says nothing of itself
  TextPair pair;
  bool has_target = false;
  const auto next = [&](std::string& text) {
    if (!has_target && !texts.next(pair)) {
      return false;
    }
    text = has_target ? pair.target : pair.source;
    has_target = !has_target && !makes_noise(config);
    return true;
  };
  text::TokenizerTraining training;
  training.unigram = config.vocabulary == "unigram";
  const bool sentinels = makes_noise(config) && config.noise == "spans";
  training.vocabulary_size = config.vocabulary_size - (sentinels ? kSentinels : 0);
  require(!sentinels || training.vocabulary_size >= kSmallest, "vocabulary_size: with the ", kSentinels,
          " sentinels of spans it must be at least ", kSmallest + kSentinels, ", found ", config.vocabulary_size);
  const TemporaryFolder folder("vocabulary");
  const std::string learned = text::train_tokenizer(training, next);
  with_temporary_folder([&] {
    text::write_trained_tokenizer(folder.path() / "tokenizer", sentinels ? with_sentinels(learned) : learned);
  });
  return std::make_shared<text::HuggingFaceTokenizer>(folder.path() / "tokenizer");
}

}  // namespace weft::fine_tuning
