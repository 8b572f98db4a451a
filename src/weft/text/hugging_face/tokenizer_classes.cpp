// SPDX-License-Identifier: Apache-2.0
// The rows, and how each class reads its vocabulary.
#include "weft/text/hugging_face/tokenizer_classes.h"

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/text/hugging_face/compose.h"

namespace weft::text {
namespace {

constexpr const char* kWords = "vocab.txt";
constexpr const char* kBytePairs = "vocab.json";
constexpr const char* kPieces = "spiece.model";
constexpr const char* kFairseqPieces = "sentencepiece.bpe.model";

std::string words(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_bert(files.at(kWords), settings, where);
}

std::string byte_pairs(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  const auto merges = files.find("merges.txt");
  if (merges == files.end()) {
    fail(ErrorKind::kIo, where, ": ", kBytePairs, " needs merges.txt beside it");
  }
  return compose_roberta(files.at(kBytePairs), merges->second, settings, where);
}

std::string big_bird(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_big_bird(files.at(kPieces), settings, concat(where, ": ", kPieces));
}

std::string xlm_roberta(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_xlm_roberta(files.at(kFairseqPieces), settings, concat(where, ": ", kFairseqPieces));
}

std::string camembert(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_camembert(files.at(kFairseqPieces), settings, concat(where, ": ", kFairseqPieces));
}

constexpr std::array kClasses{
    TokenizerClass{"BertTokenizer", "bert", kWords, true, words},
    TokenizerClass{"DistilBertTokenizer", "distilbert", kWords, false, words},
    TokenizerClass{"RobertaTokenizer", "roberta", kBytePairs, false, byte_pairs},
    TokenizerClass{"LongformerTokenizer", "longformer", kBytePairs, false, byte_pairs},
    TokenizerClass{"BartTokenizer", "bart", kBytePairs, false, byte_pairs},
    TokenizerClass{"LEDTokenizer", "led", kBytePairs, false, byte_pairs},
    TokenizerClass{"BigBirdTokenizer", "big_bird", kPieces, false, big_bird},
    TokenizerClass{"XLMRobertaTokenizer", "xlm-roberta", kFairseqPieces, false, xlm_roberta},
    TokenizerClass{"CamembertTokenizer", "camembert", kFairseqPieces, false, camembert},
};

const TokenizerClass* first_where(auto&& is) {
  const auto* const found = std::find_if(kClasses.begin(), kClasses.end(), is);
  return found == kClasses.end() ? nullptr : found;
}

}  // namespace

std::span<const TokenizerClass> tokenizer_classes() { return kClasses; }

const TokenizerClass* find_tokenizer_class(std::string_view name) {
  return first_where([&](const TokenizerClass& row) { return row.name == without_fast(name); });
}

const TokenizerClass* tokenizer_class_of(std::string_view model_type) {
  return first_where([&](const TokenizerClass& row) { return row.model_type == model_type; });
}

}  // namespace weft::text
