// SPDX-License-Identifier: Apache-2.0
// Texts as a model takes them: whole, cut because the caller said so, or as windows that overlap. Nothing is ever cut
// without a word.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/system/option_name.h"
#include "weft/formats/config_json.h"
#include "weft/text/hugging_face.h"

namespace weft::tasks {

/// A text, or two that the model sees together (a question and a text, a premise and a hypothesis).
struct Document {
  std::string first;
  std::optional<std::string> second = {};
  std::string name = "the text";   ///< for messages: "text 3", a file
  formats::Json fields = nullptr;  ///< of the record that it comes from, its texts too; null where it is no record
  std::vector<std::string> names_of_texts = {};  ///< which of the fields the texts are
  std::int64_t place = 0;                        ///< in the input, from 0: it names what is drawn for the text
};

/// The documents with `prompt` before the first text of each, without their records.
std::vector<Document> with_prompt(std::span<const Document> documents, const std::string& prompt);

/// What happens to a text that is longer than the model can take.
enum class Overflow {
  kError,
  kTruncate,
  kWindows,
};

struct LengthRule {
  std::int64_t maximum = 0;  ///< tokens of a window, special ones included
  std::int64_t stride = 0;   ///< tokens that a window shares with the one before it
  Overflow overflow = Overflow::kError;
  text::Truncation side = text::Truncation::kLongestFirst;
  std::string model = "the model";  ///< in errors
  std::string hint =
      concat(option("truncate"), " cuts the text there, and says so");  ///< of the error about a text that is too long
};

/// A document's tokens: one window, or several.
struct EncodedDocument {
  std::vector<text::Encoding> windows;  ///< in the order of the text
  std::int64_t tokens = 0;              ///< of the whole document, special ones included
  std::int64_t left_out = 0;            ///< of these, how many no window holds: not 0 after truncation only
};

/// Tokenises `document`. Errors: TextTooLong naming the document with its tokens and the maximum where it is too long
/// and `rule` allows neither cutting nor windows; UnfitText where it leaves no room for the stride, or for the text
/// beside a question.
EncodedDocument encode_document(const text::HuggingFaceTokenizer& tokenizer, const Document& document,
                                const LengthRule& rule);

/// The stride that a window of `maximum` tokens has when nobody says: a quarter of it, and 128 at most.
constexpr std::int64_t default_stride(std::int64_t maximum) noexcept {
  constexpr std::int64_t kMostShared = 128;
  return maximum / 4 < kMostShared ? maximum / 4 : kMostShared;
}

}  // namespace weft::tasks
