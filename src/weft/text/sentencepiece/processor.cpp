// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding follow the SentencePiece library step by step (sentencepiece_processor.cc).
#include "weft/text/sentencepiece/processor.h"

#include <limits>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/utf8_sequence.h"
#include "weft/text/sentencepiece_check.h"
#include "weft/text/utf8.h"

namespace weft::text {
namespace {

std::string checked(std::string file, std::string_view where) {
  check_sentencepiece_model(file, where);
  return file;
}

// The value of "<0x4F>".
char byte_of(std::string_view piece) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
  return static_cast<char>(digit(piece[3]) * 16 + digit(piece[4]));
}

// Pieces back to text, one by one.
class Decoder {
 public:
  explicit Decoder(const SentencePieceModel& model) : model_(model) {}

  void add(std::string_view piece) {
    const std::int32_t id = model_.find(piece);
    const PieceType type = model_.type(id);
    if (type == PieceType::kByte) {
      bytes_ += byte_of(piece);
      return;
    }
    write_bytes();
    // Only a blank before all text is the one that encoding put there.
    at_start_ = at_start_ && !dropped_blank_ && text_.empty();
    dropped_blank_ = false;
    if (type == PieceType::kUnknown) {
      text_ +=
          piece == model_.pieces[static_cast<std::size_t>(id)].text ? std::string_view(model_.unknown_text) : piece;
    } else if (type != PieceType::kControl) {
      write(piece);
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
    text_ += with_replacements(bytes_);
    bytes_.clear();
  }

  const SentencePieceModel& model_;
  std::string text_;
  std::string bytes_;
  bool at_start_ = true;
  bool dropped_blank_ = false;
};

}  // namespace

SentencePieceProcessor::SentencePieceProcessor(std::string file, std::string where)
    : where_(std::move(where)),
      file_(checked(std::move(file), where_)),
      model_(file_, where_),
      segmenter_(model_),
      normalize_(model_.normalizer, segmenter_.user_defined()),
      denormalize_(model_.denormalizer, no_pieces_) {}

void SentencePieceProcessor::put_unknown(std::string_view run, const Take& take) const {
  if (!model_.byte_fallback) {
    take(run, model_.unknown);
    return;
  }
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char c : run) {
    const auto byte = static_cast<unsigned char>(c);
    const char piece[] = {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
    const std::string_view text(piece, sizeof(piece));
    take(text, model_.find(text));
  }
}

void SentencePieceProcessor::encode(std::string_view text, const Take& take) const {
  try {
    const std::string prepared = normalize_(text);
    constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
    require(prepared.size() < kMost, "SentencePiece takes less than 2 GiB of text at once, found ", prepared.size(),
            " bytes");
    std::string_view run;  // of unknown segments, which lie side by side in `prepared`
    for (const auto& [segment, id] : segmenter_(prepared)) {
      require(model_.type(id) != PieceType::kControl, "it has the control piece ", Quoted(segment));
      if (id == model_.unknown) {
        run = run.empty() ? segment : std::string_view(run.data(), run.size() + segment.size());
        continue;
      }
      if (!run.empty()) {
        put_unknown(std::exchange(run, {}), take);
      }
      take(segment, id);
    }
    if (!run.empty()) {
      put_unknown(run, take);
    }
  } catch (const Error& error) {
    throw Error(error.kind(), concat(where_, ": cannot tokenise the text: ", error.what()), error.hint());
  }
}

std::string SentencePieceProcessor::decode(std::size_t count,
                                           const std::function<std::string_view(std::size_t)>& at) const {
  Decoder decoder(model_);
  for (std::size_t i = 0; i < count; ++i) {
    decoder.add(at(i));
  }
  std::string text = decoder.take();
  return model_.denormalizer.character_map.empty() ? text : denormalize_(text);
}

}  // namespace weft::text
