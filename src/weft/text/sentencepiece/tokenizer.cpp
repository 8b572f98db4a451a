// SPDX-License-Identifier: Apache-2.0
// SentencePiece models (`tokenizer.model`): ids and text as the library of that name gives them, from a file that
// sentencepiece_check.h has looked at first.
#include <limits>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/utf8_sequence.h"
#include "weft/text/hugging_face.h"
#include "weft/text/sentencepiece/model.h"
#include "weft/text/sentencepiece/normalizer.h"
#include "weft/text/sentencepiece/segmenter.h"
#include "weft/text/sentencepiece_check.h"
#include "weft/text/tokenizer.h"

namespace weft::text {
namespace {

constexpr const char* kFileName = "tokenizer.model";
constexpr std::string_view kVisibleBlank = "\xE2\x96\x81";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string checked(std::string file, std::string_view where) {
  check_sentencepiece_model(file, where);
  return file;
}

// The value of "<0x4F>".
char byte_of(std::string_view piece) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
  return static_cast<char>(digit(piece[3]) * 16 + digit(piece[4]));
}

// Ids back to text, piece by piece.
class Decoder {
 public:
  explicit Decoder(const SentencePieceModel& model) : model_(model) {}

  void add(std::int32_t id) {
    const Piece& piece = model_.pieces[static_cast<std::size_t>(id)];
    if (piece.type == PieceType::kByte) {
      bytes_ += byte_of(piece.text);
      return;
    }
    write_bytes();
    // Only a blank before all text is the one that encoding put there.
    at_start_ = at_start_ && !dropped_blank_ && text_.empty();
    dropped_blank_ = false;
    if (piece.type == PieceType::kUnknown) {
      text_ += model_.unknown_text;
    } else if (piece.type != PieceType::kControl) {
      write(piece.text);
    }
  }

  std::string take() {
    write_bytes();
    return std::move(text_);
  }

 private:
  void write(std::string_view piece) {
    const NormalizerRules& rules = model_.normalizer;
    if (at_start_ && (rules.dummy_prefix || rules.remove_blanks) && piece.starts_with(kVisibleBlank)) {
      piece.remove_prefix(kVisibleBlank.size());
      // Where encoding removes all blanks at the start, so does decoding.
      dropped_blank_ = !rules.remove_blanks;
    }
    for (std::size_t end = piece.find(kVisibleBlank); end != std::string_view::npos; end = piece.find(kVisibleBlank)) {
      text_ += piece.substr(0, end);
      text_ += ' ';
      piece.remove_prefix(end + kVisibleBlank.size());
    }
    text_ += piece;
  }

  // Bytes that together are characters, and U+FFFD for each one that is part of none.
  void write_bytes() {
    for (std::string_view rest = bytes_; !rest.empty();) {
      const std::size_t length = utf8_sequence_length(rest);
      text_ += length == 0 ? kReplacement : rest.substr(0, length);
      rest.remove_prefix(length == 0 ? 1 : length);
    }
    bytes_.clear();
  }

  const SentencePieceModel& model_;
  std::string text_;
  std::string bytes_;
  bool at_start_ = true;
  bool dropped_blank_ = false;
};

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string file, std::string where)
      : where_(std::move(where)),
        file_(checked(std::move(file), where_)),
        model_(file_, where_),
        segmenter_(model_),
        normalize_(model_.normalizer, segmenter_.user_defined()),
        denormalize_(model_.denormalizer, no_pieces_) {}

  std::vector<std::int64_t> encode(std::string_view text) const override {
    try {
      const std::string prepared = normalize_(text);
      constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
      require(prepared.size() < kMost, "SentencePiece takes less than 2 GiB of text at once, found ", prepared.size(),
              " bytes");
      return ids_of(segmenter_(prepared));
    } catch (const Error& error) {
      throw Error(error.kind(), concat(where_, ": cannot tokenise the text: ", error.what()), error.hint());
    }
  }

  std::string decode(const std::vector<std::int64_t>& ids) const override {
    const std::int64_t size = vocabulary_size();
    Decoder decoder(model_);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      require(ids[i] >= 0 && ids[i] < size, "token ", i, " is ", ids[i], ", but the vocabulary has ", size, " ids");
      // A control piece and a normal one may be written alike; then the first is meant.
      decoder.add(model_.find(model_.pieces[static_cast<std::size_t>(ids[i])].text));
    }
    std::string text = decoder.take();
    return model_.denormalizer.character_map.empty() ? text : denormalize_(text);
  }

  std::int64_t vocabulary_size() const override { return static_cast<std::int64_t>(model_.pieces.size()); }
  std::string kind() const override { return "sentencepiece"; }
  void save(const std::filesystem::path& directory) const override {
    write_file_atomically(directory / kFileName, file_);
  }

 private:
  // A run of unknown segments is one token, or all its bytes.
  std::vector<std::int64_t> ids_of(const std::vector<Segment>& segments) const {
    constexpr char kDigits[] = "0123456789ABCDEF";
    std::vector<std::int64_t> ids;
    bool behind_unknown = false;
    for (const auto& [text, id] : segments) {
      require(model_.type(id) != PieceType::kControl, "it has the control piece ", quote(text));
      const bool unknown = id == model_.unknown;
      if (unknown && model_.byte_fallback) {
        for (const char c : text) {
          const auto byte = static_cast<unsigned char>(c);
          const char piece[] = {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
          ids.push_back(model_.find({piece, sizeof(piece)}));
        }
      } else if (!unknown || !behind_unknown) {
        ids.push_back(id);
      }
      behind_unknown = unknown;
    }
    return ids;
  }

  std::string where_;
  std::string file_;
  SentencePieceModel model_;
  SentencePieceSegmenter segmenter_;
  SentencePieceNormalizer normalize_;
  ByteTrie no_pieces_;
  SentencePieceNormalizer denormalize_;
};

}  // namespace

std::unique_ptr<Tokenizer> load_sentencepiece(const std::filesystem::path& model_file) {
  constexpr std::uint64_t kLargestModel = std::uint64_t{64} << 20;
  return std::make_unique<SentencePieceTokenizer>(read_file(model_file, kLargestModel),
                                                  quote(model_file.native(), 4096));
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / kFileName;
  std::error_code error;
  const bool present = std::filesystem::exists(std::filesystem::symlink_status(file, error));
  const bool hugging_face = HuggingFaceTokenizer::present_in(directory);
  if (present && hugging_face) {
    fail(ErrorKind::kFormat, quote(directory.native(), 4096), ": has the files of two tokenisers: ", kFileName,
         " and those of Hugging Face");
  }
  if (hugging_face) {
    return std::make_unique<HuggingFaceTokenizer>(directory);
  }
  return present ? load_sentencepiece(file) : make_byte_tokenizer();
}

}  // namespace weft::text
