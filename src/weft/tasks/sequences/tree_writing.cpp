// SPDX-License-Identifier: Apache-2.0
// Special tokens write nothing, whatever their names are.
#include "weft/tasks/sequences/tree_writing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/generation/processors/tree_shape.h"
#include "weft/readers/text_source.h"
#include "weft/text/hugging_face.h"

namespace weft::tasks {
namespace {

// What each id of a side writes behind other text.
std::vector<std::string> written_pieces(const SequenceModel& model, text::Side side) {
  const text::Tokenizer& tokenizer = model.tokenizer->side(side);
  const auto* const known = dynamic_cast<const text::HuggingFaceTokenizer*>(&tokenizer);
  std::vector<std::string> pieces = text::texts_behind(tokenizer);
  const models::EncoderDecoderConfig& config = writing_model(*model.writer).model->config();
  const text::Frame& frame = model.tokenizer->frame();
  std::vector<std::int64_t> silent = {config.pad_token_id, config.eos_token_id, config.decoder_start_token_id};
  silent.insert(silent.end(), frame.before.begin(), frame.before.end());
  silent.insert(silent.end(), frame.behind.begin(), frame.behind.end());
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    const auto number = static_cast<std::int64_t>(id);
    const bool is_silent = std::find(silent.begin(), silent.end(), number) != silent.end();
    const bool is_special = known != nullptr && !pieces[id].empty() && known->is_added(number);
    pieces[id] = is_silent || is_special ? std::string() : pieces[id];
  }
  return pieces;
}

}  // namespace

readers::LinearSymbols symbols_in(const std::string& path) {
  readers::TextSource lines(path, readers::ReadOptions());
  readers::LinearSymbols symbols;
  std::string line;
  while (lines.next_line(line)) {
    lines.begin_record();
    if (line.find_first_not_of(" \t\r") != std::string::npos) {
      readers::LinearSymbols found = readers::symbols_of_linear(line, lines.where());
      symbols.labels.merge(found.labels);
      symbols.leaves = std::max(symbols.leaves, found.leaves);
    }
  }
  if (symbols.labels.empty()) {
    fail(ErrorKind::kFormat, quote(path, 4096), " has no tree, as weft data trees writes them into NAME.trees");
  }
  return symbols;
}

void write_trees(SequenceModel& model, readers::LinearSymbols symbols) {
  require(!model.right_to_left, model.name, ": the model writes from right to left, and trees are kept from left to ",
          "right");
  generation::TreeShape shape;
  shape.source = written_pieces(model, text::Side::kSource);
  shape.target = written_pieces(model, text::Side::kTarget);
  shape.labels = std::move(symbols.labels);
  shape.leaf = [leaves = symbols.leaves](std::string_view word) { return readers::linear_leaf(word, leaves); };
  shape.ends = {writing_model(*model.writer).model->config().eos_token_id};
  write_constrained(model, generation::keep_trees(std::move(shape)));
}

}  // namespace weft::tasks
