// SPDX-License-Identifier: Apache-2.0
// Texts into a store and out of it. What was written is safe after each commit(); a process that is killed in between
// leaves the store as it was at the last one, and the same command goes on from there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/store/store.h"
#include "weft/store/texts/corpus_text.h"

namespace weft::store {

/// What came of the texts of a run.
struct WriteCounts {
  std::int64_t added = 0;
  std::int64_t updated = 0;    ///< had other words, or were cut otherwise
  std::int64_t unchanged = 0;  ///< are there as they are
  std::int64_t removed = 0;
};

class StoreWriter {
 public:
  /// Begins a run. `store` was opened to be written. Errors: as Transaction.
  explicit StoreWriter(Store& store);

  /// Adds a text as passages of at most `length` characters (cut_passages()), or replaces the one with its id, whose
  /// vectors go. Errors: kArgument that names both places where this run has had the id before.
  void put(const CorpusText& text, std::int64_t length);
  /// Takes a text out; false where the store has none of that id.
  bool remove(const std::string& id);
  /// Takes out all texts that this run did not put.
  void remove_others();
  /// What was done so far is safe.
  void commit();

  const WriteCounts& counts() const noexcept { return counts_; }

 private:
  void add_passages(std::int64_t text_number, const CorpusText& text, std::int64_t length);
  void remove_passages(std::int64_t text_number);
  void begin();

  Store& store_;
  std::optional<Transaction> transaction_;
  std::int64_t run_ = 0;
  WriteCounts counts_;
};

}  // namespace weft::store
