// SPDX-License-Identifier: Apache-2.0
// One vocabulary a directory, whatever the year it was saved in.
#include "weft/text/hugging_face/tokenizer_files.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"
#include "weft/formats/pickle/pickled_words.h"
#include "weft/text/hugging_face/compose.h"
#include "weft/text/hugging_face/vocabulary.h"

namespace weft::text {
namespace {

constexpr const char* kJson = "tokenizer.json";
constexpr const char* kWordPiece = "vocab.txt";
constexpr const char* kBytePairs = "vocab.json";
constexpr const char* kMerges = "merges.txt";
constexpr const char* kSentencePiece = "spiece.model";
// Files of which a directory has one, or tokenizer.json beside others; then all that are read and saved again.
constexpr const char* kVocabularies[] = {kJson, kWordPiece, kBytePairs, kSentencePiece};
// Transformer-XL's words as torch.save wrote them: a directory without any of those may have one.
constexpr const char* kPickledWords[] = {"vocab.pkl", "vocab.bin"};
constexpr const char* kFiles[] = {kJson,
                                  kWordPiece,
                                  kBytePairs,
                                  kMerges,
                                  kSentencePiece,
                                  "tokenizer_config.json",
                                  "special_tokens_map.json",
                                  "added_tokens.json"};

void require_class(const TokenizerSettings& settings, std::initializer_list<std::string_view> known,
                   const std::string& where) {
  const std::string_view name = without_fast(settings.tokenizer_class);
  if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end()) {
    throw Error(ErrorKind::kUnsupported,
                concat(where, ": the tokeniser is a ", quote(settings.tokenizer_class), ", which Weft reads from ",
                       kJson, " only"),
                "save it once with transformers, which writes that file");
  }
}

/// {"word":id,...} of words in the order of their ids.
std::string words_json(const std::vector<std::string>& words, std::string_view where) {
  std::string text = "{";
  for (std::size_t id = 0; id < words.size(); ++id) {
    text += concat(id == 0 ? "" : ",", json_string(words[id], where), ":", id);
  }
  return text + "}";
}

// Transformer-XL's vocabulary of words. Its class need not be named: no other family ends a line with <eos>.
bool has_words(const TokenizerFiles& files, const TokenizerSettings& settings) {
  const std::string_view name = without_fast(settings.tokenizer_class);
  const auto words = files.find(kBytePairs);
  return words != files.end() &&
         (name == "TransfoXLTokenizer" ||
          (name.empty() && !files.contains(kMerges) && words->second.find(R"("<eos>")") != std::string::npos));
}

}  // namespace

bool has_tokenizer_files(const std::filesystem::path& directory) {
  const auto there = [&](const char* name) { return ModelFile(directory, name).exists(); };
  return std::any_of(std::begin(kVocabularies), std::end(kVocabularies), there) ||
         std::any_of(std::begin(kPickledWords), std::end(kPickledWords), there);
}

TokenizerFiles read_tokenizer_files(const std::filesystem::path& directory) {
  constexpr std::uint64_t kLargestFile = std::uint64_t{256} << 20;
  TokenizerFiles files;
  for (const char* name : kFiles) {
    if (const ModelFile file(directory, name); file.exists()) {
      files.emplace(name, read_file(file, kLargestFile));
    }
  }
  const bool has_one = std::any_of(std::begin(kVocabularies), std::end(kVocabularies),
                                   [&](const char* name) { return files.contains(name); });
  for (const char* name : kPickledWords) {
    const ModelFile file(directory, name);
    if (!has_one && !files.contains(kBytePairs) && file.exists()) {
      // From here on they are JSON: what is saved elsewhere is no pickle.
      files.emplace(kBytePairs, words_json(formats::read_pickled_words(file), file.path().native()));
    }
  }
  return files;
}

std::string tokenizer_json(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  const auto json = files.find(kJson);
  if (json != files.end()) {
    return json->second;
  }
  // Which of two vocabularies is meant, nobody can tell.
  const auto count = std::count_if(std::begin(kVocabularies), std::end(kVocabularies),
                                   [&](const char* name) { return files.contains(name); });
  if (count != 1) {
    fail(count == 0 ? ErrorKind::kIo : ErrorKind::kFormat, where, ": expected one of ", kJson, ", ", kWordPiece, ", ",
         kBytePairs, " and ", kSentencePiece, ", found ", count == 0 ? "none" : "several");
  }
  if (has_words(files, settings)) {
    return compose_words(files.at(kBytePairs), settings, concat(where, ": ", kBytePairs));
  }
  if (files.contains(kWordPiece)) {
    require_class(settings, {"BertTokenizer"}, where);
    return compose_bert(files.at(kWordPiece), settings, where);
  }
  if (files.contains(kSentencePiece)) {
    require_class(settings, {"BigBirdTokenizer"}, where);
    return compose_big_bird(files.at(kSentencePiece), settings, where);
  }
  require_class(settings, {"RobertaTokenizer", "LongformerTokenizer", "BartTokenizer", "LEDTokenizer"}, where);
  if (!files.contains(kMerges)) {
    fail(ErrorKind::kIo, where, ": ", kBytePairs, " needs ", kMerges, " beside it");
  }
  return compose_roberta(files.at(kBytePairs), files.at(kMerges), settings, where);
}

std::string lowercased_first(const std::string& json, const std::string& where) {
  using formats::Json;
  Json tokenizer = formats::parse_json(json, where);
  const Json found = tokenizer.is_object() ? tokenizer.value("normalizer", Json()) : Json();
  const auto type_is = [](const Json& normalizer, const char* type) {
    return normalizer.is_object() && normalizer.value("type", Json()) == type;
  };
  Json rules = Json::array();
  if (type_is(found, "Sequence")) {
    rules = formats::list_member(found, "normalizers", concat(where, ": normalizer"));
  } else if (found.is_object()) {
    rules.push_back(found);
  }
  if (!tokenizer.is_object() ||
      std::any_of(rules.begin(), rules.end(), [&](const Json& one) { return type_is(one, "Lowercase"); })) {
    return json;  // what is no object is refused by whoever loads it
  }
  Json lower = Json::object();
  lower["type"] = "Lowercase";
  rules.insert(rules.begin(), lower);
  tokenizer["normalizer"] = Json{{"type", "Sequence"}, {"normalizers", rules}};
  return formats::print_json(tokenizer);
}

}  // namespace weft::text
