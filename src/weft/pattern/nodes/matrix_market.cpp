// SPDX-License-Identifier: Apache-2.0
// The reader: a banner, comments, a line of sizes, a line for each entry. Nothing is reserved by what a file claims.
#include "weft/pattern/nodes/matrix_market.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"
#include "weft/core/text/small_letters.h"

namespace weft::pattern {
namespace {

constexpr std::int64_t kMaximumPositions = std::int64_t{1} << 40;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  EdgeList run() {
    read_banner();
    read_size();
    for (std::int64_t entry = 0; entry < entries_; ++entry) {
      if (!next_content()) {
        fail_here("the size line states ", entries_, " entries, the file ends after ", entry);
      }
      read_entry();
    }
    if (next_content()) {
      fail_here("the size line states ", entries_, " entries, here is one more");
    }
    std::sort(list_.edges.begin(), list_.edges.end());
    list_.edges.erase(std::unique(list_.edges.begin(), list_.edges.end()), list_.edges.end());
    return std::move(list_);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void fail_here(const Parts&... parts) const {
    fail(ErrorKind::kFormat, "edges: ", quote(name_), ", line ", number_, ": ", parts...);
  }

  /// Takes the next line, without its end and blanks around it; false at the end of the file.
  bool next_line() {
    if (rest_.empty()) {
      return false;
    }
    ++number_;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    while (!line_.empty() && is_blank(line_.back())) {
      line_.remove_suffix(1);
    }
    return true;
  }

  /// The next line that is neither empty nor a comment.
  bool next_content() {
    while (next_line()) {
      if (!line_.empty() && line_.front() != '%') {
        return true;
      }
    }
    return false;
  }

  /// Takes a word off the line; empty where none is left.
  std::string_view word() {
    while (!line_.empty() && is_blank(line_.front())) {
      line_.remove_prefix(1);
    }
    const std::size_t end =
        static_cast<std::size_t>(std::find_if(line_.begin(), line_.end(), is_blank) - line_.begin());
    const std::string_view taken = line_.substr(0, end);
    line_.remove_prefix(end);
    return taken;
  }

  std::string one_of(const char* what, std::span<const std::string_view> known) {
    const std::string found = small_letters(std::string(word()));
    if (std::find(known.begin(), known.end(), found) == known.end()) {
      fail_here(what, " must be one of ", joined(known, ", "), ", found ", quote(found));
    }
    return found;
  }

  void read_banner() {
    static constexpr std::string_view kFields[] = {"pattern", "real", "integer", "complex"};
    static constexpr std::string_view kSymmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
    const std::string_view first = rest_.substr(0, rest_.find('\n'));
    if (!next_line() || small_letters(std::string(word())) != "%%matrixmarket" ||
        small_letters(std::string(word())) != "matrix") {
      number_ = 1;
      fail_here("expected the banner '%%MatrixMarket matrix coordinate pattern general' in plain text, found ",
                quote(first, 60));
    }
    const std::string format = small_letters(std::string(word()));
    if (format == "array") {
      fail(ErrorKind::kUnsupported, "edges: ", quote(name_), " holds a dense matrix (array); a graph is a list of ",
           "entries (coordinate)");
    }
    if (format != "coordinate") {
      fail_here("the format must be coordinate, found ", quote(format));
    }
    const std::string field = one_of("the field", kFields);
    values_ = field == "pattern" ? 0 : (field == "complex" ? 2 : 1);
    mirrored_ = one_of("the symmetry", kSymmetries) != "general";
    expect_end();
  }

  void read_size() {
    if (!next_content()) {
      fail_here("expected a line with rows, columns and entries, found the end");
    }
    list_.queries = integer("the number of rows", 1, kMaximumPositions);
    list_.keys = integer("the number of columns", 1, kMaximumPositions);
    entries_ = integer("the number of entries", 0, kMaximumEntries);
    expect_end();
    if (mirrored_ && list_.queries != list_.keys) {
      fail_here("a symmetric matrix must be square, found ", list_.queries, " x ", list_.keys);
    }
  }

  void read_entry() {
    const std::int64_t query = integer("the row", 1, list_.queries) - 1;
    const std::int64_t key = integer("the column", 1, list_.keys) - 1;
    bool zero = values_ > 0;
    for (int value = 0; value < values_; ++value) {
      zero = real() == 0 && zero;
    }
    expect_end();
    if (zero) {
      return;
    }
    list_.edges.push_back({query, key});
    if (mirrored_ && query != key) {
      list_.edges.push_back({key, query});
    }
  }

  std::int64_t integer(const char* what, std::int64_t minimum, std::int64_t maximum) {
    const std::string_view text = word();
    const std::optional<std::int64_t> value = integer_of(text);
    if (!value || *value < minimum || *value > maximum) {
      fail_here(what, " must be a whole number in [", minimum, ", ", maximum, "], found ",
                text.empty() ? "nothing" : quote(text));
    }
    return *value;
  }

  double real() {
    const std::string_view text = word();
    const std::optional<double> value = real_of(text);
    if (!value || !std::isfinite(*value)) {
      fail_here("the value must be a finite number, found ", text.empty() ? "nothing" : quote(text));
    }
    return *value;
  }

  void expect_end() {
    if (const std::string_view extra = word(); !extra.empty()) {
      fail_here("expected the end of the line, found ", quote(extra));
    }
  }

  std::string_view rest_;
  std::string_view line_;
  const std::string& name_;
  std::int64_t number_ = 0;
  std::int64_t entries_ = 0;
  int values_ = 0;  // numbers after the two indices
  bool mirrored_ = false;
  EdgeList list_;
};

}  // namespace

EdgeList read_matrix_market(std::string_view text, const std::string& name) { return Reader(text, name).run(); }

std::string write_matrix_market(const EdgeList& list) {
  std::string text = concat("%%MatrixMarket matrix coordinate pattern general\n", list.queries, ' ', list.keys, ' ',
                            list.edges.size(), '\n');
  for (const FileEdge& edge : list.edges) {
    text.append(std::to_string(edge.query + 1)).append(" ").append(std::to_string(edge.key + 1)).append("\n");
  }
  return text;
}

}  // namespace weft::pattern
