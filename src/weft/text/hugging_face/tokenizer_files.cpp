// SPDX-License-Identifier: Apache-2.0
// One vocabulary a directory, whatever the year it was saved in.
#include "weft/text/hugging_face/tokenizer_files.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/joined.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"
#include "weft/formats/pickle/pickled_words.h"
#include "weft/text/hugging_face/compose.h"
#include "weft/text/hugging_face/vocabulary.h"

namespace weft::text {
namespace {

constexpr const char* kJson = "tokenizer.json";
constexpr const char* kBytePairs = "vocab.json";
constexpr const char* kMerges = "merges.txt";
constexpr const char* kPlainPieces = "spiece.model";
constexpr const char* kFairseqPieces = "sentencepiece.bpe.model";
constexpr const char* kDebertaPieces = "spm.model";
constexpr const char* kSettings = "tokenizer_config.json";
// Files of which a directory has one, or tokenizer.json beside others; then all that are read and saved again.
constexpr const char* kVocabularies[] = {kJson, "vocab.txt", kBytePairs, kPlainPieces, kFairseqPieces, kDebertaPieces};
// Transformer-XL's words as torch.save wrote them: a directory without any of those may have one.
constexpr const char* kPickledWords[] = {"vocab.pkl", "vocab.bin"};
constexpr const char* kOthers[] = {kMerges, kSettings, "special_tokens_map.json", "added_tokens.json"};

/// The class that reads `vocabulary` where the files name none: the only one, the first of those that read it alike, or
/// the usual one; null where nobody can tell.
const TokenizerClass* unnamed_class(std::string_view vocabulary) {
  const TokenizerClass* first = nullptr;
  bool alike = true;
  for (const TokenizerClass& row : tokenizer_classes()) {
    if (row.vocabulary == vocabulary) {
      first = first == nullptr || row.usual ? &row : first;
      alike = alike && row.compose == first->compose;
    }
  }
  return first != nullptr && (alike || first->usual) ? first : nullptr;
}

/// The row of the class that the files name, or that of unnamed_class().
const TokenizerClass& class_of(const TokenizerSettings& settings, std::string_view vocabulary,
                               const std::string& where) {
  if (const TokenizerClass* const row = unnamed_class(vocabulary); settings.tokenizer_class.empty() && row != nullptr) {
    return *row;
  }
  const TokenizerClass* const named = find_tokenizer_class(settings.tokenizer_class);
  if (named != nullptr && named->vocabulary == vocabulary) {
    return *named;
  }
  if (settings.tokenizer_class.empty()) {
    throw Error(ErrorKind::kFormat,
                concat(where, ": ", vocabulary, " is read by several tokeniser classes, and neither ", kSettings,
                       " (tokenizer_class) nor config.json (model_type) says which one is meant"),
                "put the model's config.json beside it");
  }
  throw Error(ErrorKind::kUnsupported,
              concat(where, ": the tokeniser is a ", quote(settings.tokenizer_class), ", which Weft reads from ", kJson,
                     " only"),
              "save it once with transformers, which writes that file");
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

/// Puts the class that config.json says into the settings, where theirs is needed: a copy elsewhere has no config.json.
void name_class(TokenizerDirectory& read, const std::filesystem::path& directory) {
  if (read.files.contains(kJson) || !read.settings.tokenizer_class.empty()) {
    return;
  }
  const TokenizerClass* const row = tokenizer_class_of(model_type_in(directory));
  if (row == nullptr || !read.files.contains(std::string(row->vocabulary))) {
    return;
  }
  const TokenizerClass* const otherwise = unnamed_class(row->vocabulary);
  if (otherwise == nullptr || otherwise->compose != row->compose) {
    read.settings.tokenizer_class = row->name;
    read.settings.config["tokenizer_class"] = row->name;
    read.files[kSettings] = formats::print_json(read.settings.config, 2) + "\n";
  }
}

}  // namespace

bool has_tokenizer_files(const std::filesystem::path& directory) {
  const auto there = [&](const char* name) { return ModelFile(directory, name).exists(); };
  return std::any_of(std::begin(kVocabularies), std::end(kVocabularies), there) ||
         std::any_of(std::begin(kPickledWords), std::end(kPickledWords), there);
}

std::span<const char* const> vocabulary_files() { return kVocabularies; }

std::string model_type_in(const std::filesystem::path& directory) {
  const ModelFile file(directory, "config.json");
  const formats::Json config = file.exists() ? formats::read_json(file) : formats::Json();
  const formats::Json type = config.is_object() ? config.value("model_type", formats::Json()) : formats::Json();
  return type.is_string() ? type.get<std::string>() : std::string();
}

TokenizerDirectory read_tokenizer_directory(const std::filesystem::path& directory, const std::string& where) {
  constexpr std::uint64_t kLargestFile = std::uint64_t{256} << 20;
  TokenizerDirectory found;
  TokenizerFiles& files = found.files;
  const auto read = [&](const char* name) {
    if (const ModelFile file(directory, name); file.exists()) {
      files.emplace(name, read_file(file, kLargestFile));
    }
  };
  std::for_each(std::begin(kVocabularies), std::end(kVocabularies), read);
  const bool has_one = !files.empty();
  std::for_each(std::begin(kOthers), std::end(kOthers), read);
  for (const char* name : kPickledWords) {
    const ModelFile file(directory, name);
    if (!has_one && !files.contains(kBytePairs) && file.exists()) {
      // From here on they are JSON: what is saved elsewhere is no pickle.
      files.emplace(kBytePairs, words_json(formats::read_pickled_words(file), file.path().native()));
    }
  }
  found.settings = read_tokenizer_settings(files, where);
  name_class(found, directory);
  return found;
}

std::string tokenizer_json(const TokenizerFiles& files, TokenizerSettings& settings, const std::string& where) {
  const auto json = files.find(kJson);
  if (json != files.end()) {
    return json->second;
  }
  // Which of two vocabularies is meant, nobody can tell.
  const auto is_there = [&](const char* name) { return files.contains(name); };
  const auto count = std::count_if(std::begin(kVocabularies), std::end(kVocabularies), is_there);
  if (count != 1) {
    fail(count == 0 ? ErrorKind::kIo : ErrorKind::kFormat, where, ": expected one of ", joined(kVocabularies, ", "),
         ", found ", count == 0 ? "none" : "several");
  }
  if (has_words(files, settings)) {
    return compose_words(files.at(kBytePairs), settings, concat(where, ": ", kBytePairs));
  }
  const char* const vocabulary = *std::find_if(std::begin(kVocabularies), std::end(kVocabularies), is_there);
  return class_of(settings, vocabulary, where).compose(files, settings, where);
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
