// SPDX-License-Identifier: Apache-2.0
// A graph from a Matrix Market file (Boisvert et al. 1996): text that other people wrote, read with bounded memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::pattern {

struct FileEdge {
  std::int64_t query;
  std::int64_t key;
  friend auto operator<=>(const FileEdge&, const FileEdge&) = default;
};

/// Rows are queries, columns are keys, counted from 0.
struct EdgeList {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::vector<FileEdge> edges;  ///< ascending, distinct
};

/// A file holds at most this many entries, and at most this many bytes.
inline constexpr std::int64_t kMaximumEntries = std::int64_t{1} << 25;
inline constexpr std::uint64_t kMaximumFile = std::uint64_t{1} << 30;

/// Reads `matrix coordinate`, any field, any symmetry; an entry whose value is 0 is no edge, and the entries of a
/// symmetric matrix are edges both ways. `name` is for messages. Errors: kFormat with the line for a banner, a size, an
/// index, a value or a number of entries that breaks the rules; kUnsupported for dense matrices.
EdgeList read_matrix_market(std::string_view text, const std::string& name);

/// The text that reads back to the same list: `matrix coordinate pattern general`.
std::string write_matrix_market(const EdgeList& list);

}  // namespace weft::pattern
