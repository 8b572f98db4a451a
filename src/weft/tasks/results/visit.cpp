// SPDX-License-Identifier: Apache-2.0
// A record's error is told from those of its neighbours by halves: most are found before anything is computed.
#include "weft/tasks/results/visit.h"

#include <cstddef>

#include "weft/core/system/option_name.h"

namespace weft::tasks {
namespace {

std::string skip_hint() {
  return concat(option("on_error"), " skip gives this record an error in place of a result, and goes on");
}

// Enough documents at once to find some of one length; one by one where each is to be answered as it comes.
std::size_t documents_at_once(const RunOptions& run) {
  constexpr std::int64_t kBatches = 32;
  return static_cast<std::size_t>(run.batch.rows == 1 ? 1 : run.batch.rows * kBatches);
}

}  // namespace

bool is_of_record(const Error& error) {
  return error.kind() == ErrorKind::kArgument || error.kind() == ErrorKind::kFormat;
}

void visit_documents(std::span<const Document> documents, const RunOnDocuments& task, const VisitResult& visit,
                     const VisitError& on_error) {
  std::vector<TaskResult> results;
  try {
    results = task(documents);
  } catch (const Error& error) {
    if (!is_of_record(error)) {
      throw;
    }
    if (!on_error) {
      const std::string before = error.hint().empty() ? "" : error.hint() + "; ";
      throw Error(error.kind(), error.what(), documents.size() == 1 ? error.hint() : before + skip_hint());
    }
    if (documents.size() == 1) {
      on_error(error.what(), documents.front());
      return;
    }
    const std::size_t half = documents.size() / 2;
    visit_documents(documents.first(half), task, visit, on_error);
    visit_documents(documents.subspan(half), task, visit, on_error);
    return;
  }
  for (std::size_t i = 0; i < documents.size(); ++i) {
    visit(results[i], documents[i]);
  }
}

namespace {

// Documents, and between them the records that could not be read.
void run_around(std::span<const Document> documents, std::span<const UnreadRecord> unread, const RunOnDocuments& task,
                const VisitResult& visit, const VisitError& on_error) {
  std::size_t done = 0;
  const auto run_to = [&](std::size_t end) {
    if (end > done) {
      visit_documents(documents.subspan(done, end - done), task, visit, on_error);
    }
    done = end;
  };
  for (const UnreadRecord& record : unread) {
    run_to(record.before);
    on_error(record.message, {.first = {}, .name = "a record"});
  }
  run_to(documents.size());
}

}  // namespace

void visit_results(DocumentReader& reader, const RunOptions& run, const RunOnDocuments& task, const Visits& visits) {
  const std::size_t count = documents_at_once(run);
  while (true) {
    std::vector<UnreadRecord> unread;
    const std::vector<Document> documents = reader.next(count, visits.error ? &unread : nullptr);
    if (documents.empty() && unread.empty()) {
      return;
    }
    run_around(documents, unread, task, visits.result, visits.error);
    if (visits.part) {
      visits.part();
    }
  }
}

}  // namespace weft::tasks
