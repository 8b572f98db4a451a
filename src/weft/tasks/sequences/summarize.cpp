// SPDX-License-Identifier: Apache-2.0
// What is cut gives way at its end, in front of the special tokens that end every text.
#include "weft/tasks/sequences/summarize.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/core/work/pieces.h"
#include "weft/tasks/text_too_long.h"
#include "weft/text/sentences/sentences.h"

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
        concat("cut it with ", option("truncate"), ", or take a model for longer texts"));
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

// What readers have of each summary. A sentence is told once the next one has begun: its words are those of the whole.
class ToldSummaries {
 public:
  ToldSummaries(const SequenceModel& model, const OnSummarized& tell, std::size_t count)
      : model_(model), tell_(tell), told_(count) {}

  void settle(std::size_t document, std::span<const std::int64_t> ids) {
    const std::string text = written_text(model_, {ids.begin(), ids.end()});
    const std::vector<text::SentencePlace> sentences = text::find_sentences(text);
    if (sentences.size() > 1) {
      tell(document, std::string_view(text).substr(0, sentences.back().begin));
    }
  }

  // A tokeniser may write the end of a text otherwise once more of it is there: what was told is not taken back.
  void tell(std::size_t document, std::string_view text) {
    std::string& told = told_[document];
    if (text.size() <= told.size() || !text.starts_with(told)) {
      return;
    }
    if (!tell_(document, text.substr(told.size()))) {
      fail(ErrorKind::kInterrupted, "nobody waits for the rest of the summary");
    }
    told = text;
  }

 private:
  const SequenceModel& model_;
  const OnSummarized& tell_;
  std::vector<std::string> told_;
};

// The summaries of all sources, handed on as they come where somebody reads along.
std::vector<Writing> write_summaries(const SequenceModel& model, WritingRequest request,
                                     const SummarizeOptions& options) {
  if (!options.on_summarized) {
    return write_all(*model.writer, request, options.batch);
  }
  ToldSummaries told(model, options.on_summarized, request.sources.size());
  if (!model.right_to_left) {  // the first words of a text that is written from right to left are the last to come
    request.on_settled = [&](std::size_t source, std::span<const std::int64_t> ids) { told.settle(source, ids); };
  }
  const std::vector<Writing> written = write_all(*model.writer, request, options.batch);
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (!written[i].texts.empty()) {
      told.tell(i, written_text(model, written[i].texts.front().ids));
    }
  }
  return written;
}

}  // namespace

std::vector<TaskResult> summarize(const SequenceModel& model, std::span<const Document> documents,
                                  const SummarizeOptions& options) {
  std::vector<Ids> sources;
  Ids numbers;
  std::vector<TaskResult> results(documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    Ids ids = source_ids(model, documents[i].first, documents[i].name);
    results[i].metadata["tokens"] = ids.size();
    results[i].metadata["truncated"] = cut_to_fit(model, documents[i], options, ids);
    sources.push_back(std::move(ids));
    numbers.push_back(draw_number(documents[i].place, 0));
    end_piece();
  }
  const std::vector<Writing> written = write_summaries(model, {.sources = sources, .numbers = numbers}, options);
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
