// SPDX-License-Identifier: Apache-2.0
// The rows, and how each class reads its vocabulary.
#include "weft/text/hugging_face/tokenizer_classes.h"

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/text/hugging_face/compose.h"

namespace weft::text {
namespace {

constexpr const char* kWordsFile = "vocab.txt";
constexpr const char* kPairsFile = "vocab.json";
constexpr const char* kPiecesFile = "spiece.model";
constexpr const char* kDebertaFile = "spm.model";
constexpr const char* kFairseqFile = "sentencepiece.bpe.model";

std::string read_words(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_bert(files.at(kWordsFile), settings, where);
}

std::string read_mpnet(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_mpnet(files.at(kWordsFile), settings, where);
}

std::string read_esm(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_esm(files.at(kWordsFile), settings, where);
}

const std::string& merges_of(const TokenizerFiles& files, const std::string& where) {
  const auto merges = files.find("merges.txt");
  if (merges == files.end()) {
    fail(ErrorKind::kIo, where, ": ", kPairsFile, " needs merges.txt beside it");
  }
  return merges->second;
}

std::string read_byte_pairs(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_roberta(files.at(kPairsFile), merges_of(files, where), settings, where);
}

std::string read_gpt2(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_gpt2(files.at(kPairsFile), merges_of(files, where), settings, where);
}

std::string read_big_bird(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_big_bird(files.at(kPiecesFile), settings, concat(where, ": ", kPiecesFile));
}

std::string read_xlm_roberta(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_xlm_roberta(files.at(kFairseqFile), settings, concat(where, ": ", kFairseqFile));
}

std::string read_mbart(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_mbart(files.at(kFairseqFile), settings, concat(where, ": ", kFairseqFile));
}

std::string read_mbart50(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_mbart50(files.at(kFairseqFile), settings, concat(where, ": ", kFairseqFile));
}

std::string read_nllb(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_nllb(files.at(kFairseqFile), settings, concat(where, ": ", kFairseqFile));
}

std::string read_camembert(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_camembert(files.at(kFairseqFile), settings, concat(where, ": ", kFairseqFile));
}

std::string read_deberta(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_deberta(files.at(kDebertaFile), settings, concat(where, ": ", kDebertaFile));
}

std::string read_t5(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  return compose_t5(files.at(kPiecesFile), settings, concat(where, ": ", kPiecesFile));
}

constexpr std::array kClasses{
    TokenizerClass{"BertTokenizer", "bert", kWordsFile, true, read_words, true},
    TokenizerClass{"DistilBertTokenizer", "distilbert", kWordsFile, false, read_words},
    TokenizerClass{"ElectraTokenizer", "electra", kWordsFile, true, read_words},
    TokenizerClass{"BertTokenizer", "nomic_bert", kWordsFile, true, read_words},
    TokenizerClass{"BertTokenizer", "jina_bert", kWordsFile, true, read_words},
    TokenizerClass{"MPNetTokenizer", "mpnet", kWordsFile, false, read_mpnet},
    TokenizerClass{"EsmTokenizer", "esm", kWordsFile, false, read_esm},
    TokenizerClass{"RobertaTokenizer", "roberta", kPairsFile, false, read_byte_pairs, true},
    TokenizerClass{"LongformerTokenizer", "longformer", kPairsFile, false, read_byte_pairs},
    TokenizerClass{"BartTokenizer", "bart", kPairsFile, false, read_byte_pairs},
    TokenizerClass{"LEDTokenizer", "led", kPairsFile, false, read_byte_pairs},
    TokenizerClass{"GPT2Tokenizer", "gpt2", kPairsFile, false, read_gpt2},
    TokenizerClass{"BigBirdTokenizer", "big_bird", kPiecesFile, false, read_big_bird, true},
    TokenizerClass{"DebertaV2Tokenizer", "deberta-v2", kDebertaFile, true, read_deberta},
    TokenizerClass{"T5Tokenizer", "t5", kPiecesFile, false, read_t5},
    TokenizerClass{"MT5Tokenizer", "mt5", kPiecesFile, false, read_t5},
    TokenizerClass{"T5Tokenizer", "umt5", kPiecesFile, false, read_t5},
    TokenizerClass{"T5Tokenizer", "longt5", kPiecesFile, false, read_t5},
    TokenizerClass{"XLMRobertaTokenizer", "xlm-roberta", kFairseqFile, false, read_xlm_roberta},
    TokenizerClass{"MBartTokenizer", "mbart", kFairseqFile, false, read_mbart},
    TokenizerClass{"MBart50Tokenizer", "", kFairseqFile, false, read_mbart50},
    TokenizerClass{"NllbTokenizer", "", kFairseqFile, false, read_nllb},
    TokenizerClass{"CamembertTokenizer", "camembert", kFairseqFile, false, read_camembert},
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
  return first_where([&](const TokenizerClass& row) { return !model_type.empty() && row.model_type == model_type; });
}

}  // namespace weft::text
