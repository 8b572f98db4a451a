// SPDX-License-Identifier: Apache-2.0
// What is cut gives way at its end, in front of the special tokens that end every text.
#include "weft/tasks/sequences/summarize.h"

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/work/pieces.h"
#include "weft/tasks/text_too_long.h"

namespace weft::tasks {
namespace {

// A text cut to what the model takes; how many tokens that leaves out.
std::int64_t cut_to_fit(const SequenceModel& model, const Document& document, const SummarizeOptions& options,
                        Ids& ids) {
  const auto tokens = static_cast<std::int64_t>(ids.size());
  if (tokens <= model.longest) {
    return 0;
  }
  if (!options.truncate) {
    throw TextTooLong(
        concat(document.name, ": the text has ", tokens, " tokens, but ", model.name, " reads at most ", model.longest),
        "cut it with --truncate, or take a model for longer texts");
  }
  // The frame of special tokens is that of an empty text: all but the first of them stand behind it.
  const Ids frame = model.tokenizer->encode("", text::Side::kSource);
  const std::size_t before = frame.size() > 1 ? 1 : 0;
  const auto behind = static_cast<std::int64_t>(frame.size() - before);
  require(model.longest > static_cast<std::int64_t>(frame.size()), model.name, " reads ", model.longest,
          " tokens, too few for a text");
  ids.erase(ids.begin() + (model.longest - behind), ids.end() - behind);
  return tokens - model.longest;
}

}  // namespace

std::vector<TaskResult> summarize(const SequenceModel& model, std::span<const Document> documents,
                                  const SummarizeOptions& options) {
  std::vector<Ids> sources;
  std::vector<TaskResult> results(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    Ids ids = source_ids(model, documents[i].first, documents[i].name);
    results[i].metadata["tokens"] = ids.size();
    results[i].metadata["truncated"] = cut_to_fit(model, documents[i], options, ids);
    sources.push_back(std::move(ids));
    end_piece();
  }
  const std::vector<Writing> written = write_all(*model.writer, sources, options.batch);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    require(!written[i].texts.empty(), model.name, ": the search found no text");
    results[i].result = formats::Json::array();
    std::int64_t incomplete = 0;
    for (const Written& text : written[i].texts) {
      results[i].result.push_back({{"summary_text", written_text(model, text.ids)}});
      incomplete += text.complete ? 0 : 1;
    }
    results[i].metadata["incomplete"] = incomplete;
    results[i].metadata.update(*written[i].computed);
  }
  return results;
}

}  // namespace weft::tasks
