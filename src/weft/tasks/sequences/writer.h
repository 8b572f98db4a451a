// SPDX-License-Identifier: Apache-2.0
// What translation and summaries need of a model: for each source, texts that it writes. The model is an
// encoder-decoder with its search; tests put a copier in its place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/tasks/encoder_runner.h"
#include "weft/text/pair/pair_tokenizer.h"

namespace weft::tasks {

using Ids = std::vector<std::int64_t>;

/// A text that a model wrote.
struct Written {
  Ids ids;
  double score = 0;
  bool complete = true;  ///< false: it ends where the longest length is, and not where the model ended it
};

/// The texts for one source, best first, and what was computed for them, for metadata: dtype, attention, global tokens.
struct Writing {
  std::vector<Written> texts;
  std::shared_ptr<const formats::Json> computed;
};

/// The language that texts are written in, for a model whose targets begin with its token.
struct TargetLanguage {
  std::int64_t id = -1;                          ///< of the token; -1: nobody says
  const text::FramedLanguages* known = nullptr;  ///< all that there are
};

/// Called with the tokens that the best text for a source will begin with, whenever there are more of them.
using OnSettled = std::function<void(std::size_t source, std::span<const std::int64_t> ids)>;

/// What names the draws for a part of a document, from 0: neither the other documents nor batches change it.
constexpr std::int64_t draw_number(std::int64_t place_of_document, std::size_t part) noexcept {
  constexpr std::int64_t kParts = 4096;  // further ones share the draws of another document's
  return place_of_document * kParts + static_cast<std::int64_t>(part);
}

/// What is to be written in one call.
struct WritingRequest {
  std::span<const Ids> sources;
  std::span<const std::int64_t> numbers;  ///< of the sources, which name what is drawn: draw_number()
  OnSettled on_settled = {};              ///< not every writer calls it
  TargetLanguage language = {};
};

class Writer {
 public:
  virtual ~Writer() = default;
  /// For each source its texts, best first. Errors: those of the search.
  virtual std::vector<std::vector<Written>> write(const WritingRequest& request) = 0;
  /// What was computed in the last call, for metadata: dtype, attention, global tokens.
  virtual formats::Json computed() const { return formats::Json::object(); }

 protected:
  Writer() = default;
  Writer(const Writer&) = default;
  Writer& operator=(const Writer&) = default;
};

/// A model directory ready for a task that writes texts.
struct SequenceModel {
  std::shared_ptr<Writer> writer;
  std::shared_ptr<const text::PairTokenizer> tokenizer;
  std::string name;                  ///< of the directory, for messages
  std::int64_t longest = 0;          ///< tokens of a source, special ones included
  std::int64_t vocabulary = 0;       ///< rows of the source's embedding: ids are below it
  std::string source_language = {};  ///< that tokenizer_config.json names, or empty
  std::string target_language = {};
  std::string products = "float32";  ///< what float32 weights are multiplied in: float32 or bfloat16
  bool right_to_left = false;        ///< ids are written from the last to the first
  std::int64_t alternatives = 1;     ///< texts that are written for each source
};

/// A text as the model's encoder reads it. Errors: those of the tokeniser with `name` before them; kFormat naming the
/// model and the token for an id that the model has no row for.
Ids source_ids(const SequenceModel& model, std::string_view text, const std::string& name);
/// The same in `frame`, in place of that of the tokeniser.
Ids source_ids(const SequenceModel& model, std::string_view text, const std::string& name, const text::Frame& frame);

/// A text that the model wrote, in the order of reading. Errors: kFormat naming the model, for an id that the tokeniser
/// has no token for.
std::string written_text(const SequenceModel& model, const Ids& ids);

/// Writes for all sources, those of like lengths together, under a progress bar. Results are in the order of the
/// sources and do not depend on the batches. Errors: kInterrupted after Ctrl-C, between two batches.
std::vector<Writing> write_all(Writer& writer, const WritingRequest& request, const BatchLimits& limits);

}  // namespace weft::tasks
