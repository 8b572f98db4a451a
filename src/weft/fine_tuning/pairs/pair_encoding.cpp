// SPDX-License-Identifier: Apache-2.0
// What is cut gives way at its end, within the frame.
#include "weft/fine_tuning/pairs/pair_encoding.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/progress.h"
#include "weft/core/system/option_name.h"
#include "weft/fine_tuning/denoising/denoiser.h"
#include "weft/fine_tuning/pairs/alignment_loss.h"

namespace weft::fine_tuning {
namespace {

using Ids = std::vector<std::int64_t>;

// A side of a pair, and what it may have.
struct SideLimits {
  text::Side side;
  std::int64_t longest;
  std::int64_t vocabulary;
};

Ids framed_ids(const PairEncoding& encoding, const std::string& text, const std::string& where,
               const SideLimits& limits, ReadSummary& summary) {
  const text::Frame& frame = encoding.tokenizer.frame();
  Ids ids = encoding.tokenizer.encode_plain(text, limits.side);
  const auto found = static_cast<std::int64_t>(ids.size());
  const std::int64_t most = limits.longest - frame.size();
  if (found > most) {
    if (!encoding.config.truncate || most < 1) {
      throw Error(ErrorKind::kArgument,
                  concat(where, ": a text of ", found, " tokens and ",
                         frame.size() == 1 ? "its end" : concat(frame.size(), " special ones"), " is longer than ",
                         limits.longest),
                  encoding.config.model.empty()
                      ? concat(option("truncate"), " cuts longer texts; ", option("max_source_positions"), " and ",
                               option("max_target_positions"), " make a model for longer ones")
                      : concat(option("truncate"), " cuts longer texts"));
    }
    ++summary.cut;
    summary.left_out += found - most;
    ids.resize(static_cast<std::size_t>(most));
  }
  encoding.tokenizer.check_rows(ids, limits.side, limits.vocabulary, where);
  if (encoding.model.right_to_left && limits.side == text::Side::kTarget) {
    std::reverse(ids.begin(), ids.end());
  }
  ids = frame.around(ids);
  if (static_cast<std::int64_t>(ids.size()) > encoding.config.batch_tokens) {
    throw Error(ErrorKind::kArgument,
                concat(where, ": a text of ", ids.size(), " tokens does not fit in a batch of ",
                       encoding.config.batch_tokens, " tokens"),
                concat(option("batch_tokens"), " makes larger batches"));
  }
  return ids;
}

// The links of a pair's words as links of its tokens, of those that are left where a text is cut; nothing where words
// cannot be told apart.
std::optional<std::vector<TokenLink>> linked_tokens(const PairEncoding& encoding, const TextPair& pair,
                                                    const PairLimits& limits) {
  const text::PairTokenizer& tokenizer = encoding.tokenizer;
  const text::WordIds source = text::read_plain_words(tokenizer, pair.source, text::Side::kSource);
  const text::WordIds target = text::read_plain_words(tokenizer, pair.target, text::Side::kTarget);
  if (source.one_by_one || target.one_by_one) {
    return std::nullopt;
  }
  const auto behind = static_cast<std::int64_t>(tokenizer.frame().behind.size());
  return token_links(*pair.links, source, target, limits.source - behind, limits.target - behind);
}

void warn_of_pieces(std::int64_t left_out, const PairTexts& texts, const std::string& noise) {
  if (left_out > 0) {
    log_warning(
        left_out, " stretches of ", texts.name(), " text are left out: ",
        noise == "gap-sentences" ? "of a single sentence none can be hidden" : "of a single token none can be hidden");
  }
}

}  // namespace

ReadSummary PairEncoding::encode_noised(PairTexts& texts, PairRows& rows, std::vector<std::string>* references) const {
  const Denoiser denoiser(config, model, tokenizer);
  ReadSummary summary;
  PairRows pieces;
  PairRows& stored = references == nullptr ? rows : pieces;
  ProgressBar bar(concat("tokenising ", texts.name(), " text"), 0);
  std::int64_t left_out = 0;
  TextPair text;
  while (texts.next(text)) {
    left_out += denoiser.add(text.source, text.where, tokenizer, stored).left_out;
    bar.update(static_cast<double>(stored.size()));
  }
  if (stored.size() == 0) {
    fail(ErrorKind::kFormat, "the ", texts.name(), " data have no text in which something can be hidden");
  }
  warn_of_pieces(left_out, texts, config.noise);
  for (std::int64_t piece = 0; piece < pieces.size(); ++piece) {
    const PairRow row = denoiser.drawn(pieces.row(piece), noise_key(0, -1, 0, piece));
    rows.add(row);
    references->push_back(tokenizer.decode(row.target));
  }
  summary.records = texts.report();
  summary.examples = rows.size();
  return summary;
}

ReadSummary PairEncoding::encode(PairTexts& texts, PairRows& rows, std::vector<std::string>* references) const {
  ReadSummary summary;
  if (!texts.given()) {
    return summary;
  }
  if (makes_noise(config)) {
    return encode_noised(texts, rows, references);
  }
  const PairLimits limits = limits_of(config, model);
  const SideLimits source = {text::Side::kSource, limits.source, model.vocab_size};
  const SideLimits target = {text::Side::kTarget, limits.target, model.target_vocab_size()};
  ProgressBar bar(concat("tokenising ", texts.name(), " pairs"), 0);
  std::int64_t without_links = 0;
  std::optional<bool> taught;  // where there are alignments: whether a token has a link
  TextPair pair;
  while (texts.next(pair)) {
    bar.update(static_cast<double>(rows.size()));
    PairRow row = {framed_ids(*this, pair.source, pair.where, source, summary),
                   framed_ids(*this, pair.target, pair.where, target, summary)};
    if (pair.links) {
      std::optional<std::vector<TokenLink>> links = linked_tokens(*this, pair, limits);
      without_links += links ? 0 : 1;
      row.links = std::move(links).value_or(std::vector<TokenLink>());
      taught = taught.value_or(false) || !row.links.empty();
    }
    rows.add(row);
    if (references != nullptr) {
      references->push_back(pair.target);
    }
  }
  summary.records = texts.report();
  summary.examples = rows.size();
  if (without_links > 0) {
    log_warning(without_links, " pairs teach no alignment: tokens lie in two words there");
  }
  if (taught && !*taught) {
    throw Error(ErrorKind::kFormat,
                concat("the ", texts.name(), " data have alignments, but no token learns from them"),
                "line N of a file of alignments has the links of pair N, as 0-0 1-2");
  }
  return summary;
}

}  // namespace weft::fine_tuning
