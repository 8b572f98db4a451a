// SPDX-License-Identifier: Apache-2.0
// Answers to a question that stand in a store of texts: its best passages are found, put together and read at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/fields.h"
#include "weft/store/search.h"
#include "weft/tasks/answer.h"
#include "weft/tasks/search/text_search.h"

namespace weft::tasks {

struct RetrieveConfig {
  std::int64_t passages = 5;
  std::string by = "auto";
  std::int64_t depth = 200;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = RetrieveConfig;
    visit(Field{"passages", &C::passages, "with --retrieve: passages that are read at once, the best ones"}.range(
        1, 1000));
    visit(Field{"by", &C::by,
                "with --retrieve: what passages are found by; auto is words and vectors where the store has vectors, "
                "else words"}
              .one_of({store::kSearchWays.begin(), store::kSearchWays.end()}));
    visit(Field{"depth", &C::depth, "with --retrieve: passages of each ranking that are joined"}.range(1, 10000));
  }
};

/// Passages as one document.
class ReadPassages {
 public:
  /// Adds store::readable() of a passage, behind an empty line where it is not the first.
  void add(const store::Passage& passage);
  const std::string& text() const noexcept { return text_; }
  bool empty() const noexcept { return places_.empty(); }

  /// {"id", "passage" (its rank, from 1), "byte_start", "byte_end"} of bytes [begin, end) of the document: bytes count
  /// in the text `id`, and are null for words of its title. JSON's null where they are not in one passage, or partly
  /// in a title.
  formats::Json place(std::int64_t begin, std::int64_t end) const;

 private:
  struct Place {
    std::string id;
    std::int64_t start;       // of the passage in the document, its title first
    std::int64_t text_start;  // of its text there
    std::int64_t end;
    std::int64_t in_text;  // the byte of the text `id` at which the passage begins
  };
  std::string text_;
  std::vector<Place> places_;
};

/// {"answer", "score", "logit", "id", "passage", "byte_start", "byte_end"}, or a list of these when options.top_k is
/// more than 1; place() says where it stands. An answer that would go over the end of a passage is left out. "" with
/// null for its place is no answer: also where no passage has a word of the question, and where no answer is left.
/// Metadata: that of answer() where something was read, "passages": [{"id", "begin", "score"}], and "left_out".
/// Errors: those of search_passages() and answer().
TaskResult answer_from_store(store::StoreSearch& search, SearchModels& models, TaskModel& reader,
                             const std::string& question, const RetrieveConfig& config,
                             const AnswerTaskOptions& options);

}  // namespace weft::tasks
