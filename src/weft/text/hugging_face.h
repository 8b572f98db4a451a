// SPDX-License-Identifier: Apache-2.0
// Tokenisers of Hugging Face directories: tokenizer.json, or the older files that hugging_face/tokenizer_classes.h
// lists, through the `tokenizers` crate, with the ids and offsets of `transformers`.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/encoding.h"
#include "weft/text/tokenizer.h"

struct WeftTokenizer;  // of hugging_face/tokenizers_c.h

namespace weft::text {

struct TokenizerSettings;  // of hugging_face/settings.h

/// In the order in which `transformers` adds those that the vocabulary lacks.
enum class SpecialRole { kBegin, kEnd, kUnknown, kSeparator, kPadding, kClass, kMask };
inline constexpr std::size_t kSpecialRoles = 7;

/// What is changed about a tokeniser's rules as it is read; what save() writes stays as it was.
struct TokenizerOptions {
  bool lower_case_first = false;  ///< lowercase texts before all other rules, where no rule does
};

class HuggingFaceTokenizer final : public Tokenizer {
 public:
  /// The tokeniser whose files lie in `directory`: tokenizer.json if it is there, else one of the older vocabularies.
  /// Reads tokenizer_config.json, special_tokens_map.json and added_tokens.json too. Errors: kIo; kFormat naming the
  /// file and what is wrong; kUnsupported for a tokeniser class that is read from tokenizer.json only.
  explicit HuggingFaceTokenizer(const std::filesystem::path& directory, const TokenizerOptions& options = {});
  ~HuggingFaceTokenizer() override;
  HuggingFaceTokenizer(const HuggingFaceTokenizer&) = delete;
  HuggingFaceTokenizer& operator=(const HuggingFaceTokenizer&) = delete;

  /// Whether `directory` has files of such a tokeniser.
  static bool present_in(const std::filesystem::path& directory);

  /// A text as one window, or several that overlap by `options.stride` when it is longer than `options.max_length`. A
  /// byte that is not part of valid UTF-8 is read as U+FFFD and counts as one code point. What gives way is the end of
  /// a text, or its beginning where tokenizer_config.json has truncation_side left. Errors: kArgument, naming the
  /// tokeniser's file, when the options leave no room, the tokeniser's own rules fail on the text, or one of them takes
  /// more memory or time than its bounds, which grow with the text (docs/tokenizers.md).
  std::vector<Encoding> encode_windows(std::string_view text, const EncodeOptions& options = {}) const;
  /// The same for two texts, as a question and the document that answers it.
  std::vector<Encoding> encode_windows(std::string_view first, std::string_view second,
                                       const EncodeOptions& options = {}) const;

  /// The ids of a text without special tokens, in a fraction of the memory of encode_windows(). Errors: as there.
  std::vector<std::int64_t> encode(std::string_view text) const override;
  std::string decode(const std::vector<std::int64_t>& ids) const override { return decode(ids, false); }
  /// The text of `ids`, without special tokens if so wanted. An id without a token is a kArgument error.
  std::string decode(const std::vector<std::int64_t>& ids, bool skip_special) const;
  /// What `transformers` shows for `ids`: decode(), and where the directory's settings ask for it
  /// (clean_up_tokenization_spaces) without blanks before punctuation. Errors: as decode().
  std::string display(const std::vector<std::int64_t>& ids, bool skip_special) const;
  /// Tokens as text, as decode() would join them; they need not be in the vocabulary. Errors: kArgument.
  std::string join(const std::vector<std::string>& tokens) const;
  /// What the vocabulary writes before a token that goes on a word ("##"); empty where it has no such mark.
  std::string continuation() const;
  /// One more than the largest id.
  std::int64_t vocabulary_size() const override;
  std::string kind() const override { return "huggingface"; }
  /// Writes the files that it was loaded from.
  void save(const std::filesystem::path& directory) const override;

  /// The id of a token as the vocabulary writes it ("Ġhello", "##ing"), or nothing.
  std::optional<std::int64_t> find(std::string_view token) const;
  /// The token of an id as the vocabulary writes it. An id without one is a kArgument error.
  std::string token(std::int64_t id) const;
  /// Whether the token of an id is special, or was added to the vocabulary: a text has it whole. Errors: kArgument.
  bool is_added(std::int64_t id) const;
  /// "model" of the tokenizer.json, whatever files it was made of. Errors: kFormat.
  std::string model_json() const;
  /// The id that has a role, or nothing.
  std::optional<std::int64_t> special(SpecialRole role) const { return special_[static_cast<std::size_t>(role)]; }
  /// `model_max_length` of tokenizer_config.json, or 0.
  std::int64_t maximum_length() const noexcept;
  /// What the small files of the directory say, and the tokens that the class has where they name none.
  const TokenizerSettings& settings() const noexcept { return *settings_; }
  /// Whether token types belong to what the tokeniser of `transformers` gives: `model_input_names` of
  /// tokenizer_config.json or its tokenizer_class say so; nothing when neither is there.
  std::optional<bool> type_ids() const noexcept { return type_ids_; }

 private:
  std::vector<Encoding> encode_all(std::string_view first, const std::string_view* second,
                                   const EncodeOptions& options) const;
  std::vector<std::uint32_t> checked(const std::vector<std::int64_t>& ids) const;

  struct Free {
    void operator()(WeftTokenizer* tokenizer) const;
  };
  std::unique_ptr<WeftTokenizer, Free> tokenizer_;
  std::string where_;                         // the file of the rules, for errors
  std::map<std::string, std::string> files_;  // name to content
  std::unique_ptr<const TokenizerSettings> settings_;
  std::array<std::optional<std::int64_t>, kSpecialRoles> special_;
  bool clean_up_ = false;
  std::optional<bool> type_ids_;
};

}  // namespace weft::text
