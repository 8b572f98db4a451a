// SPDX-License-Identifier: Apache-2.0
// The callback's border: an exception stops the texts, and goes on once the other side has returned.
#include "weft/text/train_tokenizer.h"

#include <exception>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/formats/config_json.h"
#include "weft/text/hugging_face/tokenizers_c.h"

// NOLINTBEGIN(readability-identifier-naming): names of a C interface
extern "C" {

/// As rust/tokenizers-c/src/train.rs has it.
struct WeftTraining {
  bool unigram;
  bool dna;
  std::size_t vocabulary;
  std::uint64_t frequency;
  std::size_t longest;
};

using WeftNextText = bool (*)(void* context, const std::uint8_t** data, std::size_t* length);

bool weft_tokenizer_train(const WeftTraining* training, WeftNextText next, void* context, WeftText* result,
                          WeftText* error);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

namespace weft::text {
namespace {

struct Texts {
  const std::function<bool(std::string&)>& next;
  std::string text;
  std::int64_t count = 0;
  std::exception_ptr failure = nullptr;
};

bool next_text(void* context, const std::uint8_t** data, std::size_t* length) {
  auto& texts = *static_cast<Texts*>(context);
  try {
    if (!texts.next(texts.text)) {
      return false;
    }
    ++texts.count;
    *data = reinterpret_cast<const std::uint8_t*>(texts.text.data());
    *length = texts.text.size();
    return true;
  } catch (...) {
    texts.failure = std::current_exception();
    return false;
  }
}

std::string take(const WeftText& text) {
  std::string copy(reinterpret_cast<const char*>(text.data), text.length);
  weft_text_free(text);
  return copy;
}

}  // namespace

std::string train_tokenizer(const TokenizerTraining& training, const std::function<bool(std::string&)>& next) {
  constexpr std::int64_t kSmallest = 261;
  require(training.vocabulary_size >= kSmallest && training.vocabulary_size < (std::int64_t{1} << 31),
          "a vocabulary must have at least ", kSmallest, " tokens (256 bytes and 5 special ones), found ",
          training.vocabulary_size);
  require(training.min_frequency >= 1 && training.longest_token >= 1,
          "min_frequency and longest_token must be at least 1, found ", training.min_frequency, " and ",
          training.longest_token);
  const WeftTraining request{training.unigram, training.dna, static_cast<std::size_t>(training.vocabulary_size),
                             static_cast<std::uint64_t>(training.min_frequency),
                             static_cast<std::size_t>(training.longest_token)};
  Texts texts{next, {}};
  WeftText result{};
  WeftText error{};
  const bool trained = weft_tokenizer_train(&request, next_text, &texts, &result, &error);
  std::string text = take(trained ? result : error);
  if (texts.failure) {
    std::rethrow_exception(texts.failure);
  }
  require(texts.count > 0, "a vocabulary is learned from text, found none");
  if (!trained) {
    fail(ErrorKind::kFormat, "the vocabulary cannot be learned: ", text);
  }
  return text;
}

void write_trained_tokenizer(const std::filesystem::path& folder, const std::string& tokenizer_json) {
  const formats::Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                {"bos_token", "<s>"},
                                {"eos_token", "</s>"},
                                {"pad_token", "<pad>"},
                                {"unk_token", "<unk>"},
                                {"cls_token", "<s>"},
                                {"sep_token", "</s>"},
                                {"mask_token", "<mask>"}};
  write_directory_atomically(folder, [&](const std::filesystem::path& directory) {
    write_file_atomically(directory / "tokenizer.json", tokenizer_json);
    write_file_atomically(directory / "tokenizer_config.json", formats::print_json(config, 2) + "\n");
  });
}

}  // namespace weft::text
