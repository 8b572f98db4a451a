// SPDX-License-Identifier: Apache-2.0
// Batches by length: a batch takes as many steps as its longest text has tokens.
#include "weft/tasks/sequences/writer.h"

#include <numeric>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/progress.h"
#include "weft/generation/processors/processor.h"

namespace weft::tasks {

namespace {

/// Ids that `encode` makes of a text called `name`.
template <typename Encode>
Ids checked_ids(const SequenceModel& model, const std::string& name, const Encode& encode) {
  Ids ids;
  try {
    ids = encode();
  } catch (const Error& error) {
    throw Error(error.kind(), concat(name, ": ", error.what()), error.hint());
  }
  model.tokenizer->check_rows(ids, text::Side::kSource, model.vocabulary, model.name);
  return ids;
}

}  // namespace

Ids source_ids(const SequenceModel& model, std::string_view text, const std::string& name) {
  return checked_ids(model, name, [&] { return model.tokenizer->encode(text, text::Side::kSource); });
}

Ids source_ids(const SequenceModel& model, std::string_view text, const std::string& name, const text::Frame& frame) {
  return checked_ids(model, name,
                     [&] { return frame.around(model.tokenizer->encode_unframed(text, text::Side::kSource)); });
}

std::string written_text(const SequenceModel& model, const Ids& ids) {
  try {
    return model.tokenizer->decode(model.right_to_left ? Ids(ids.rbegin(), ids.rend()) : ids);
  } catch (const Error& error) {
    throw Error(ErrorKind::kFormat,
                concat(model.name, ": the model wrote what its tokeniser cannot read: ", error.what(),
                       ": these are the files of two models"),
                error.hint());
  }
}

std::vector<Writing> write_all(Writer& writer, const WritingRequest& request, const BatchLimits& limits) {
  const InterruptGuard guard;
  const std::span<const Ids> sources = request.sources;
  std::vector<std::int64_t> lengths;
  lengths.reserve(sources.size());
  for (const Ids& source : sources) {
    lengths.push_back(static_cast<std::int64_t>(source.size()));
  }
  const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  ProgressBar bar("tokens", static_cast<double>(total));
  std::vector<Writing> results(sources.size());
  std::int64_t done = 0;
  for (const std::vector<std::size_t>& batch : batches_by_length(lengths, {limits.rows, limits.tokens, kWritingPass})) {
    if (interrupted()) {
      fail(ErrorKind::kInterrupted, "stopped after ", done, " of ", total, " tokens of the sources");
    }
    std::vector<Ids> rows;
    Ids numbers;
    rows.reserve(batch.size());
    for (const std::size_t source : batch) {
      rows.push_back(sources[source]);
      numbers.push_back(request.numbers[source]);
      done += lengths[source];
    }
    WritingRequest part{.sources = rows, .numbers = numbers, .language = request.language};
    if (request.on_settled) {
      part.on_settled = [&](std::size_t row, std::span<const std::int64_t> ids) {
        request.on_settled(batch[row], ids);
      };
    }
    std::vector<std::vector<Written>> written;
    try {
      written = writer.write(part);
    } catch (const generation::PromptError& error) {
      throw error.of_item(static_cast<std::int64_t>(batch[static_cast<std::size_t>(error.item())]));
    }
    require(written.size() == batch.size(), "the model wrote ", written.size(), " texts for ", batch.size(),
            " sources");
    if (interrupted()) {
      fail(ErrorKind::kInterrupted, "stopped after ", done, " of ", total, " tokens of the sources");
    }
    const auto computed = std::make_shared<const formats::Json>(writer.computed());
    for (std::size_t row = 0; row < batch.size(); ++row) {
      results[batch[row]] = {std::move(written[row]), computed};
    }
    bar.update(static_cast<double>(done));
  }
  return results;
}

}  // namespace weft::tasks
