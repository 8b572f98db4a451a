// SPDX-License-Identifier: Apache-2.0
// Runs every record of tests/pattern/cases/*.test; docs/recipes/add-a-pattern.md shows the format. A `mask` record is
// drawn from multiplicity() and again from compile(), for several tiles.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pattern/dense_layout.h"
#include "weft/core/error.h"
#include "weft/pattern/pattern.h"

namespace weft::pattern {
namespace {

constexpr const char* kCases = WEFT_TEST_DATA_DIR "/../pattern/cases";  // also the files of edges("...")

struct Record {
  std::string place;  // file:line
  std::string what;   // mask, print, expand, error, check
  std::string expression;
  std::map<std::string, std::string> site;
  std::string expected;
};

std::string unescape(std::string text) {
  for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos;) {
    text.replace(at, 2, "\n");
  }
  return text;
}

std::vector<Record> read_records(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Record> records;
  bool in_expected = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty()) {
      in_expected = false;
    } else if (in_expected) {
      records.back().expected += line + "\n";
    } else if (line == "----") {
      in_expected = true;
    } else if (line.starts_with("site ")) {
      std::istringstream words(line.substr(5));
      for (std::string word; words >> word;) {
        records.back().site[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
      }
    } else if (!line.starts_with('#')) {
      const std::size_t space = std::min(line.find(' '), line.size());
      records.push_back({path.filename().string() + ":" + std::to_string(number),
                         line.substr(0, space),
                         unescape(line.substr(std::min(space + 1, line.size()))),
                         {},
                         {}});
    }
  }
  return records;
}

struct BoundSite {
  Site site;
  std::vector<std::int64_t> input;
};

void bind(const Record& record, BoundSite& bound) {
  const auto value = [&](const char* key, std::int64_t otherwise) {
    const auto found = record.site.find(key);
    return found == record.site.end() ? otherwise : static_cast<std::int64_t>(std::stoll(found->second));
  };
  Site& site = bound.site;
  const std::int64_t length = value("length", 8);
  site.query_length = value("query", length);
  site.key_length = value("key", length);
  site.query_offset = value("offset", 0);
  site.heads = value("heads", 1);
  site.head = value("head", 0);
  site.layer = value("layer", 0);
  site.maximum_length = value("maximum", 0);
  if (const auto found = record.site.find("input"); found != record.site.end()) {
    std::istringstream numbers(found->second);
    for (std::string number; std::getline(numbers, number, ',');) {
      bound.input.push_back(std::stoll(number));
    }
  }
  site.input = bound.input;
}

std::string draw(const std::vector<int>& cells, const Site& site) {
  std::string picture;
  for (std::int64_t i = 0; i < site.query_length; ++i) {
    for (std::int64_t k = 0; k < site.key_length; ++k) {
      picture += ".#23456789"[std::min(cells[static_cast<std::size_t>(i * site.key_length + k)], 9)];
    }
    picture += '\n';
  }
  return picture;
}

void run_mask(const Record& record) {
  BoundSite bound;
  bind(record, bound);
  const Pattern pattern = Pattern::parse(record.expression, kCases);
  EXPECT_EQ(draw(test::dense_oracle(pattern, bound.site), bound.site), record.expected);
  for (const Tile tile : {Tile{64, 64}, Tile{4, 8}, Tile{1, 16}}) {
    const BlockLayout layout = compile(pattern, bound.site, tile);
    EXPECT_EQ(draw(test::dense_layout(layout, 0, bound.site.head), bound.site), record.expected)
        << tile.query << " x " << tile.key;
  }
}

void run_check(const Record& record) {
  BoundSite bound;
  bind(record, bound);
  try {
    Pattern::parse(record.expression, kCases).check(bound.site);
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()) + "\n", record.expected);
  }
}

void run_error(const Record& record) {
  try {
    Pattern::parse(record.expression, kCases);
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()) + "\n", record.expected);
  }
}

void run(const Record& record) {
  if (record.what == "mask") {
    run_mask(record);
  } else if (record.what == "print") {
    const std::string text = Pattern::parse(record.expression, kCases).to_string();
    EXPECT_EQ(text + "\n", record.expected);
    EXPECT_EQ(Pattern::parse(text, kCases).to_string(), text);
  } else if (record.what == "expand") {
    EXPECT_EQ(Pattern::parse(record.expression, kCases).expanded() + "\n", record.expected);
  } else if (record.what == "error") {
    run_error(record);
  } else if (record.what == "check") {
    run_check(record);
  } else {
    ADD_FAILURE() << "a record begins with mask, print, expand, error or check, found '" << record.what << "'";
  }
}

TEST(TextCases, EveryRecordHolds) {
  int records = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kCases)) {
    if (entry.path().extension() != ".test") {
      continue;
    }
    for (const Record& record : read_records(entry.path())) {
      SCOPED_TRACE(record.place + ": " + record.expression);
      ++records;
      try {
        run(record);
      } catch (const Error& error) {
        ADD_FAILURE() << "unexpected error: " << error.what();
      }
    }
  }
  EXPECT_GE(records, 100);
}

}  // namespace
}  // namespace weft::pattern
