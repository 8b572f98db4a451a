// SPDX-License-Identifier: Apache-2.0
// A line at a time; the first may be a header.
#include "weft/store/texts/judgements.h"

#include <string_view>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/readers/text_source.h"

namespace weft::store {
namespace {

std::vector<std::string> fields_of(std::string_view line) {
  constexpr std::string_view kBetween = " \t";
  std::vector<std::string> fields;
  for (std::size_t begin = line.find_first_not_of(kBetween); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBetween, begin), line.size());
    fields.emplace_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBetween, end);
  }
  return fields;
}

}  // namespace

Judgements read_judgements(const std::filesystem::path& file) {
  Judgements judgements;
  readers::TextSource source(file, {});
  std::string line;
  for (bool first = true; source.begin_record(), source.next_line(line); first = false) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.empty()) {
      continue;
    }
    const bool fits = fields.size() == 3 || fields.size() == 4;
    const std::optional<std::int64_t> relevance = fits ? integer_of(fields.back()) : std::nullopt;
    if (!relevance && first && fits) {
      continue;  // the header
    }
    if (!relevance) {
      fail(ErrorKind::kFormat, source.where(),
           ": expected a query id, a text id and a whole number, with tabs between them, found ", quote(line));
    }
    const std::string& text = fields[fields.size() - 2];
    if (!judgements[fields.front()].emplace(text, *relevance).second) {
      fail(ErrorKind::kFormat, source.where(), ": the text ", quote(text), " was judged for the query ",
           quote(fields.front()), " before");
    }
  }
  return judgements;
}

void SearchEvaluation::add(const std::string& query, const std::vector<RankedId>& found) {
  const auto judged = judgements_.find(query);
  if (judged == judgements_.end()) {
    return;
  }
  std::map<std::string, std::int64_t> missed = judged->second;
  std::vector<metrics::RankedText> texts;
  for (const RankedId& text : found) {
    if (text.id == query) {
      continue;
    }
    const auto relevance = judged->second.find(text.id);
    texts.push_back({static_cast<double>(static_cast<float>(text.score)),
                     relevance == judged->second.end() ? 0.0 : static_cast<double>(relevance->second), text.id});
    missed.erase(text.id);
  }
  std::vector<double> others;
  others.reserve(missed.size());
  for (const auto& [id, relevance] : missed) {
    others.push_back(static_cast<double>(relevance));
  }
  average_.add(metrics::ranked_relevance(std::move(texts)), others);
}

}  // namespace weft::store
