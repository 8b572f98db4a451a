// SPDX-License-Identifier: Apache-2.0
// Both files are read side by side, so that neither need fit into memory.
#include "weft/tasks/input/pair_source.h"

#include <array>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/readers/byte_source.h"
#include "weft/readers/text_source.h"

namespace weft::tasks {
namespace {

// The usual names, which are found in any capitals where no others were given.
constexpr std::array<std::string_view, 1> kSource = {"source"};
constexpr std::array<std::string_view, 1> kTarget = {"target"};

void look_for_usual(readers::InputTextOptions& reading) {
  reading.usual_texts = kSource;
  reading.usual_pairs = kTarget;
  if (reading.text_field == kSource.front()) {
    reading.text_field.clear();
  }
  if (reading.pair_field == kTarget.front()) {
    reading.pair_field.clear();
  }
}

readers::InputTexts lines_of_file(const std::string& path) {
  readers::InputTextOptions options;
  options.format = "lines";
  return {readers::ByteSource::stream(path), options};
}

// Exactly one of the three ways to give pairs.
void check_way(const PairSource& flags) {
  const int ways = (flags.source.empty() ? 0 : 1) + (flags.file.empty() ? 0 : 1) + (flags.texts.empty() ? 0 : 1);
  if (ways != 1) {
    throw UsageError(ways == 0 ? "no pair of texts was given" : "pairs of texts were given in several ways",
                     concat("give ", option("source"), " FILE ", option("target"), " FILE, or ", option("file"),
                            " FILE with both, or SOURCE TARGET"));
  }
  if (!flags.texts.empty() && flags.texts.size() != 2) {
    throw UsageError(concat("a pair is two texts, found ", flags.texts.size()));
  }
}

}  // namespace

void check_pairs(const PairSource& flags) {
  if (flags.source.empty() != flags.target.empty()) {
    throw UsageError(concat(option("source"), " and ", option("target"), " belong together, found only ",
                            option(flags.source.empty() ? "target" : "source")));
  }
  check_way(flags);
  if (flags.source == "-" && flags.target == "-") {
    throw UsageError("only one of the files can be standard input");
  }
  const readers::InputTextOptions& reading = flags.reading;
  const bool is_usual = reading.format == "auto" && reading.text_field == kSource.front() &&
                        reading.pair_field == kTarget.front() && reading.header;
  if (flags.file.empty() && !is_usual) {
    throw UsageError(concat(option("format"), ", ", option("source_field"), ", ", option("target_field"), " and ",
                            option("no_header"), " are for the records of ", option("file")));
  }
}

NumberedLines::NumberedLines(const std::string& path)
    : name_(path == "-" ? "standard input" : quote(path, 4096)), lines_(lines_of_file(path)) {}

bool NumberedLines::next(readers::InputText& line) {
  if (!lines_.next(line)) {
    return false;
  }
  ++count_;
  readers::check_utf8(line.first, line.where);
  return true;
}

std::int64_t NumberedLines::count_all() {
  for (readers::InputText line; lines_.next(line);) {
    ++count_;
  }
  return count_;
}

void fail_on_line_counts(NumberedLines& first, NumberedLines& second) {
  const std::int64_t lines = first.count_all();
  throw Error(ErrorKind::kFormat,
              concat(first.name(), " has ", lines, " lines and ", second.name(), " has ", second.count_all()),
              "line N of one file belongs to line N of the other; an empty line is a line too");
}

PairInput::PairInput(const PairSource& source, bool keep_fields) : source_(source) {
  if (!source.file.empty()) {
    readers::InputTextOptions reading = source.reading;
    reading.keep_fields = keep_fields;
    look_for_usual(reading);
    records_.emplace(readers::ByteSource::stream(source.file), reading);
  } else if (!source.source.empty()) {
    sources_.emplace(source.source);
    targets_.emplace(source.target);
  }
}

bool PairInput::read_lines(Document& pair) {
  readers::InputText source;
  readers::InputText target;
  const bool has_source = sources_->next(source);
  const bool has_target = targets_->next(target);
  if (has_source != has_target) {
    fail_on_line_counts(*sources_, *targets_);
  }
  pair = {.first = std::move(source.first), .second = std::move(target.first), .name = std::move(source.where)};
  return has_source;
}

bool PairInput::read(Document& pair) {
  if (records_) {
    readers::InputText text;
    if (!records_->next(text)) {
      return false;
    }
    readers::check_utf8(text.first, text.where);
    readers::check_utf8(text.second.value_or(""), text.where);
    pair = {std::move(text.first), std::move(text.second), std::move(text.where), std::move(text.fields),
            std::move(text.names_of_texts)};
  } else if (sources_) {
    if (!read_lines(pair)) {
      return false;
    }
  } else if (number_ == 0) {
    pair = {.first = source_.texts[0], .second = source_.texts[1], .name = "the pair"};
    readers::check_utf8(pair.first, "the first text");
    readers::check_utf8(*pair.second, "the second text");
  } else {
    return false;
  }
  if (pair.fields.is_null()) {
    pair.fields = {{"source", pair.first}, {"target", *pair.second}};
    pair.names_of_texts = {"source", "target"};
  }
  ++number_;
  return true;
}

std::vector<Document> PairInput::next(std::size_t count) {
  std::vector<Document> pairs;
  for (Document pair; pairs.size() < count && read(pair);) {
    pairs.push_back(std::move(pair));
  }
  require(
      number_ > 0, [&] { return sources_ ? sources_->name() : quote(source_.file, 4096); }, " has no pair of texts");
  return pairs;
}

}  // namespace weft::tasks
