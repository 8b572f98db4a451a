// SPDX-License-Identifier: Apache-2.0
// The tokeniser of an encoder-decoder: texts that the encoder reads, and texts that the decoder writes or learns to
// write. Most families have one vocabulary for both; Marian has two sets of pieces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/text/tokenizer.h"

namespace weft::text {

struct FramedLanguages;

enum class Side { kSource, kTarget };

/// Special tokens around a text.
struct Frame {
  std::vector<std::int64_t> before = {};
  std::vector<std::int64_t> behind = {};

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(before.size() + behind.size()); }
  std::vector<std::int64_t> around(const std::vector<std::int64_t>& ids) const;
};

class PairTokenizer {
 public:
  virtual ~PairTokenizer() = default;

  /// The ids of a text as the encoder reads it (source), or as the decoder learns to write it (target: the labels),
  /// with the special tokens that the family puts around it (`</s>` behind; BART and LED: `<s>` before too). Errors:
  /// kArgument naming the tokeniser's file.
  virtual std::vector<std::int64_t> encode(std::string_view text, Side side) const = 0;
  /// The same without what is put around it. Errors: as there.
  virtual std::vector<std::int64_t> encode_unframed(std::string_view text, Side side) const = 0;
  /// The ids of a text that is nothing but text, without a frame: special tokens that are written in it are letters.
  /// (A source keeps the `>>xx<<` that it begins with.) Of all other texts those of encode(). Errors: as there.
  virtual std::vector<std::int64_t> encode_plain(std::string_view text, Side side) const = 0;
  /// What encode() puts around every text.
  virtual const Frame& frame() const = 0;
  /// The text of ids without special tokens and blanks at its ends, as `transformers` gives it with
  /// skip_special_tokens. Errors: kArgument for an id without a token.
  virtual std::string display(const std::vector<std::int64_t>& ids, Side side) const = 0;
  /// A text that the model wrote: display(), with a newline for each `<n>`, which is how Pegasus writes one.
  std::string decode(const std::vector<std::int64_t>& ids, Side side = Side::kTarget) const;
  /// One side alone: ids without special tokens around them. Of families with one vocabulary both are the same object.
  virtual const Tokenizer& side(Side side) const = 0;
  /// A token as the vocabulary writes it. Errors: kArgument for an id without a token.
  virtual std::string token(std::int64_t id, Side side) const = 0;
  /// The id of a token as the vocabulary writes it, or nothing.
  virtual std::optional<std::int64_t> find(std::string_view token, Side side) const = 0;
  /// `>>xx<<` of a model for several target languages, which stands before a source text; sorted.
  virtual std::vector<std::string> language_codes() const { return {}; }
  /// Whether a `>>xx<<` at the start of a source text is one token, that of the language or the unknown one.
  virtual bool reads_language_codes() const { return false; }
  /// Languages that sources name in their frame and targets begin with (text/pair/languages.h); null: there are none.
  virtual const FramedLanguages* framed_languages() const { return nullptr; }
  /// The language of a side as tokenizer_config.json names it (`source_lang`, `target_lang`), or nothing.
  virtual std::string language(Side /*side*/) const { return {}; }
  /// `model_max_length` of tokenizer_config.json, or 0.
  virtual std::int64_t maximum_length() const { return 0; }
  /// Errors: kFormat that begins with `where` for ids of a side beyond the `rows` embeddings of a model, whose files
  /// are then those of two models.
  void check_rows(const std::vector<std::int64_t>& ids, Side side, std::int64_t rows, const std::string& where) const;
  /// Whether both sides number their pieces alike.
  bool shared() const { return shared_; }
  /// Writes the files that it was loaded from.
  void save(const std::filesystem::path& directory) const { side(Side::kSource).save(directory); }

 protected:
  explicit PairTokenizer(bool shared) : shared_(shared) {}

 private:
  bool shared_;
};

/// The tokeniser of a model directory: Marian's (source.spm, target.spm, vocab.json), Pegasus' and BigBird-Pegasus'
/// (spiece.model), M2M100's (sentencepiece.bpe.model, vocab.json), or any that HuggingFaceTokenizer reads, which a
/// tokenizer.json always means. Errors: kIo, kFormat, kUnsupported, naming the file.
std::unique_ptr<PairTokenizer> load_pair_tokenizer(const std::filesystem::path& directory);

/// Whether the tokeniser of `directory` is Marian's, or Pegasus' or M2M100's without a tokenizer.json, which no
/// HuggingFaceTokenizer reads.
bool has_piece_tokenizer(const std::filesystem::path& directory);

/// Any tokeniser for both sides, with a frame that the caller names; a text is nothing but text (encode_plain). What
/// the frame is made of is left out of what decode() gives, and so are special tokens where the tokeniser is of Hugging
/// Face's kind. For models of Weft's own, which are read as they were trained.
std::unique_ptr<PairTokenizer> make_pair_tokenizer(std::shared_ptr<const Tokenizer> tokenizer, Frame frame);

}  // namespace weft::text
