// SPDX-License-Identifier: Apache-2.0
// BertTokenizer, RobertaTokenizer, GPT2Tokenizer and the words of Transformer-XL, written down as the JSON that the
// Rust part of `transformers` 5 is made from.
#include "weft/text/hugging_face/compose.h"

#include <algorithm>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/text/hugging_face/compose_parts.h"
#include "weft/text/hugging_face/vocabulary.h"

namespace weft::text {
namespace {

using formats::Json;

/// Words are joined with blanks by a decoder for pieces whose prefix no word has.
constexpr const char* kNoPrefix = "\u0001";

/// A regular expression for any of the tokens, the longest one that fits.
std::string any_of(const TokenIds& ids) {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const auto& [token, id] : ids) {
    if (!token.empty()) {
      tokens.push_back(token);
    }
  }
  std::sort(tokens.begin(), tokens.end(), [](const std::string& left, const std::string& right) {
    return left.size() != right.size() ? left.size() > right.size() : left < right;
  });
  return joined(tokens, "|", [](const std::string& token) {
    constexpr std::string_view kMeansMore = R"(\.[]{}()*+-?^$|)";
    std::string literal;
    for (const char letter : token) {
      literal += kMeansMore.find(letter) == std::string_view::npos ? "" : "\\";
      literal += letter;
    }
    return literal;
  });
}

// {"token":id,...}: an object in between would search all its keys for each one.
std::string vocabulary_text(const TokenIds& ids, std::string_view where) {
  std::string text = "{";
  for (const auto& [token, id] : ids) {
    text += text.size() > 1 ? "," : "";
    text += json_string(token, where);
    text += ':';
    text += std::to_string(id);
  }
  return text + "}";
}

std::string byte_pairs_text(std::string_view vocabulary, std::string_view merges, std::string_view where) {
  return concat(R"({"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"",)",
                R"("end_of_word_suffix":"","fuse_unk":false,"byte_fallback":false,)",
                R"("ignore_merges":false,"vocab":)", vocabulary, R"(,"merges":)",
                merges_as_json(merges, concat(where, ": merges.txt")), "}");
}

Json byte_level(bool prefix_space) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix_space}, {"trim_offsets", true}, {"use_regex", true}};
}

// BERT's words and pieces of words, with that around a text.
std::string word_pieces(const TokenIds& ids, const TokenizerSettings& settings, const AddedTokens& added,
                        const Json& processor, std::string_view where) {
  // null lets lowercase decide, as in the original BERT.
  const Json strip = settings.strip_accents ? Json(*settings.strip_accents) : Json(nullptr);
  const Json parts = {{"normalizer",
                       {{"type", "BertNormalizer"},
                        {"clean_text", true},
                        {"handle_chinese_chars", settings.chinese_characters},
                        {"strip_accents", strip},
                        {"lowercase", settings.lower_case.value_or(true)}}},
                      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                      {"post_processor", processor},
                      {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}}};
  const std::string model = concat(
      R"({"type":"WordPiece","unk_token":)", json_string(name_of(settings, SpecialRole::kUnknown), where),
      R"(,"continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":)", vocabulary_text(ids, where), "}");
  return assemble(parts, added, model);
}

Json roberta_processor(const TokenizerSettings& settings, const AddedTokens& added, bool prefix_space) {
  const std::string& sep = name_of(settings, SpecialRole::kSeparator);
  const std::string& cls = name_of(settings, SpecialRole::kClass);
  return {{"type", "RobertaProcessing"},
          {"sep", Json::array({sep, added.id(sep)})},
          {"cls", Json::array({cls, added.id(cls)})},
          {"trim_offsets", settings.trim_offsets},
          {"add_prefix_space", prefix_space}};
}

}  // namespace

std::string compose_bert(std::string_view vocabulary, TokenizerSettings& settings, std::string_view where) {
  name_roles(settings, {nullptr, nullptr, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"});
  const TokenIds ids = read_vocabulary_lines(vocabulary);
  const AddedTokens added(settings, ids, where);
  return word_pieces(ids, settings, added, bert_processor(settings, added), where);
}

std::string compose_mpnet(std::string_view vocabulary, TokenizerSettings& settings, std::string_view where) {
  name_roles(settings, {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"});
  settings.named[static_cast<std::size_t>(SpecialRole::kMask)]->strip_left = true;
  const TokenIds ids = read_vocabulary_lines(vocabulary);
  const AddedTokens added(settings, ids, where);
  return word_pieces(ids, settings, added, roberta_processor(settings, added, false), where);
}

std::string compose_roberta(std::string_view vocabulary, std::string_view merges, TokenizerSettings& settings,
                            std::string_view where) {
  name_roles(settings, {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"});
  const TokenIds ids = read_vocabulary_json(vocabulary, concat(where, ": vocab.json"));
  const AddedTokens added(settings, ids, where);
  const bool prefix = settings.prefix_space.value_or(false);
  const Json parts = {{"normalizer", nullptr},
                      {"pre_tokenizer", byte_level(prefix)},
                      {"post_processor", roberta_processor(settings, added, prefix)},
                      {"decoder", byte_level(true)}};
  return assemble(parts, added, byte_pairs_text(vocabulary, merges, where));
}

std::string compose_gpt2(std::string_view vocabulary, std::string_view merges, TokenizerSettings& settings,
                         std::string_view where) {
  constexpr const char* kEnd = "<|endoftext|>";
  name_roles(settings, {kEnd, kEnd, kEnd, nullptr, nullptr, nullptr, nullptr});
  const TokenIds ids = read_vocabulary_json(vocabulary, concat(where, ": vocab.json"));
  const AddedTokens added(settings, ids, where);
  const Json parts = {{"normalizer", nullptr},
                      {"pre_tokenizer", byte_level(settings.prefix_space.value_or(false))},
                      {"post_processor", bare_processor()},
                      {"decoder", byte_level(true)}};
  return assemble(parts, added, byte_pairs_text(vocabulary, merges, where));
}

std::string compose_esm(std::string_view vocabulary, TokenizerSettings& settings, std::string_view where) {
  name_roles(settings, {nullptr, "<eos>", "<unk>", "<eos>", "<pad>", "<cls>", "<mask>"});
  constexpr std::size_t kMostLetters = 4096;  // a text is tried with each of them at each place
  const TokenIds ids = read_vocabulary_lines(vocabulary);
  if (ids.size() > kMostLetters) {
    fail(ErrorKind::kFormat, where, ": an ESM's vocabulary is of letters: expected at most ", kMostLetters,
         " lines, found ", ids.size());
  }
  const AddedTokens added(settings, ids, where);
  const Json letters = {
      {"type", "Split"}, {"pattern", {{"Regex", any_of(ids)}}}, {"behavior", "Isolated"}, {"invert", false}};
  // White space for Python, which the reference is written in, and not for Unicode.
  const Json separators = {
      {"type", "Split"}, {"pattern", {{"Regex", "[\x1c-\x1f]"}}}, {"behavior", "Removed"}, {"invert", false}};
  const Json parts = {
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "Sequence"}, {"pretokenizers", Json::array({letters, separators, {{"type", "WhitespaceSplit"}}})}}},
      {"post_processor", bert_processor(settings, added)},
      {"decoder", {{"type", "WordPiece"}, {"prefix", kNoPrefix}, {"cleanup", false}}}};
  return assemble(parts, added,
                  concat(R"({"type":"WordLevel","vocab":)", vocabulary_text(ids, where), R"(,"unk_token":)",
                         json_string(name_of(settings, SpecialRole::kUnknown), where), "}"));
}

std::string compose_words(std::string_view vocabulary, TokenizerSettings& settings, std::string_view where) {
  const TokenIds ids = read_vocabulary_json(vocabulary, where);
  const bool has_end = ids.contains("<eos>");  // a word like others: a text goes on behind it
  const char* unknown = ids.contains("<unk>") ? "<unk>" : ids.contains("<UNK>") ? "<UNK>" : nullptr;
  name_roles(settings, {nullptr, nullptr, unknown, nullptr, nullptr, nullptr, nullptr});
  const AddedTokens added(settings, ids, where);
  const auto replace = [](const char* pattern, const char* content) {
    return Json{{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
  };
  const Json blanks = {{"type", "WordPiece"}, {"prefix", kNoPrefix}, {"cleanup", false}};
  const Json lines = Json::array({blanks, replace(" <eos>", "\n"), replace("<eos>", "\n")});
  Json parts = {{"normalizer", nullptr},
                {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                {"post_processor", nullptr},
                {"decoder", blanks}};
  if (has_end) {
    parts["normalizer"] = replace("\n", " <eos> ");
    parts["decoder"] = {{"type", "Sequence"}, {"decoders", lines}};
  }
  return assemble(parts, added,
                  concat(R"({"type":"WordLevel","vocab":)", vocabulary, R"(,"unk_token":)",
                         unknown == nullptr ? R"("<unk>")" : json_string(unknown, where), "}"));
}

}  // namespace weft::text
