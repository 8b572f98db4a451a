// SPDX-License-Identifier: Apache-2.0
// Appending to, cutting and reading logs of JSON lines.
#include "weft/formats/json_lines.h"

#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"

namespace weft::formats {
namespace {

// `text` without a last line that has no end.
std::string_view whole_lines(std::string_view text) {
  const std::size_t end = text.rfind('\n');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

// The last line of `text`, which ends with '\n', with that end.
std::string_view last_line(std::string_view text) {
  const std::size_t before = text.size() < 2 ? std::string_view::npos : text.rfind('\n', text.size() - 2);
  return before == std::string_view::npos ? text : text.substr(before + 1);
}

Json parse_line(std::string_view line, std::string_view where) {
  line.remove_suffix(1);
  Json json = parse_json(line, where);
  if (!json.is_object()) {
    fail(ErrorKind::kFormat, where, ": every line must be a JSON object, found an item of type ", json.type_name());
  }
  return json;
}

// The line, or nothing for a broken one that may be skipped; `error` is what is wrong with it.
std::optional<Json> try_line(std::string_view line, std::string_view where, BrokenLines broken, std::string& error) {
  try {
    return parse_line(line, where);
  } catch (const Error& damage) {
    if (broken == BrokenLines::kRefuse) {
      throw;
    }
    error = damage.what();
    return std::nullopt;
  }
}

std::optional<std::int64_t> step_of(const Json& json) {
  const auto step = json.find("step");
  return step != json.end() && step->is_number_integer() ? std::optional(step->get<std::int64_t>()) : std::nullopt;
}

}  // namespace

JsonLinesWriter::JsonLinesWriter(const std::filesystem::path& path) : file_(path, O_RDWR | O_CREAT | O_APPEND) {
  const std::string text = read_file(path);
  size_ = whole_lines(text).size();
  if (size_ < text.size()) {
    file_.truncate(size_);
  }
}

void JsonLinesWriter::append(const Json& value) {
  // One write, so that a kill leaves whole lines; what a full disk took of one is cut off again.
  const std::string line = print_json(value) + "\n";
  try {
    file_.write_all(line.data(), line.size());
  } catch (const Error&) {
    file_.truncate(size_);
    throw;
  }
  size_ += line.size();
}

std::int64_t JsonLinesWriter::truncate_after_step(std::int64_t step, BrokenLines broken) {
  // From the end backwards: a log is long, and few of its lines lie behind the checkpoint.
  const std::string text = read_file(file_.path());
  const std::string where = quote(file_.path().native(), 4096);
  std::string_view rest = whole_lines(text);
  std::int64_t removed = 0;
  std::string cut;  // a broken line with no whole one between it and what is kept
  while (!rest.empty()) {
    const std::string_view line = last_line(rest);
    std::string error;
    const std::optional<Json> entry =
        try_line(line, concat(where, " at byte ", rest.size() - line.size()), broken, error);
    const std::optional<std::int64_t> found = entry ? step_of(*entry) : std::nullopt;
    if (found && *found <= step) {
      break;
    }
    cut = entry ? "" : error;
    rest.remove_suffix(line.size());
    ++removed;
  }
  if (!cut.empty()) {
    log_warning(cut, "; it is cut off with what lies behind step ", step);
  }
  file_.truncate(rest.size());
  size_ = rest.size();
  file_.sync();
  return removed;
}

std::vector<Json> read_json_lines(const FilePlace& file, BrokenLines broken) {
  const std::string text = read_file(file);
  const std::string where = quote(file.path().native(), 4096);
  std::vector<Json> lines;
  std::string first_error;
  std::int64_t skipped = 0;
  std::int64_t number = 0;
  for (std::string_view rest = whole_lines(text); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n') + 1);
    std::string error;
    if (std::optional<Json> entry = try_line(line, concat(where, " line ", ++number), broken, error)) {
      lines.push_back(*std::move(entry));
    } else if (++skipped == 1) {
      first_error = std::move(error);
    }
    rest.remove_prefix(line.size());
  }
  if (skipped > 0) {
    log_warning(first_error, skipped == 1 ? "; this line is" : concat("; this line and ", skipped - 1, " more are"),
                " left out");
  }
  return lines;
}

}  // namespace weft::formats
