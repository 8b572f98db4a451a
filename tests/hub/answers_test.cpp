// SPDX-License-Identifier: Apache-2.0
// What the Hub says, and patterns of file names: patterns against what Python's fnmatch.fnmatchcase gives.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "weft/core/error.h"
#include "weft/hub/answers.h"
#include "weft/hub/cache.h"
#include "weft/hub/file_patterns.h"
#include "weft/hub/hub_client.h"

namespace weft::hub {
namespace {

HttpAnswer answer_of(const std::vector<std::string>& lines) {
  HttpAnswer answer;
  for (const std::string& line : lines) {
    answer.take_head_line(line + "\r\n");
  }
  return answer;
}

TEST(HeadLines, AreThoseOfTheLastAnswer) {
  const HttpAnswer answer = answer_of(
      {"HTTP/1.1 100 Continue", "X-A: old", "", "HTTP/1.1 200 OK", "ETag: \"ab\" ", "no header", "etag:\tcd", ": x"});
  EXPECT_EQ(answer.header("etag"), "cd");
  EXPECT_EQ(answer.header("x-a"), "");
}

TEST(AskedWait, IsSecondsUpToAMinute) {
  const auto wait = [](const std::string& header) { return asked_wait(answer_of({header})); };
  EXPECT_EQ(wait("Retry-After: 7"), 7);
  EXPECT_EQ(wait("Retry-After: 3600"), 60);
  EXPECT_EQ(wait("ratelimit: \"api\";r=0;t=17"), 17);
  EXPECT_EQ(wait("ratelimit: t=9;r=0"), 9);
  for (const char* none :
       {"Retry-After: -7", "Retry-After: soon", "Retry-After: 1.5", "Retry-After: 99999999999999999999",
        "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT", "ratelimit: t=", "ratelimit: r=0", "X: 7"}) {
    EXPECT_EQ(wait(none), 0) << none;
  }
}

TEST(NextPage, IsTheAddressOfTheNextOneOnly) {
  const auto next = [](const std::string& link) { return next_page(answer_of({"Link: " + link})); };
  EXPECT_EQ(next("<https://a.example/x?c=1>; rel=\"next\""), "https://a.example/x?c=1");
  for (const char* none : {"<https://a.example/x>; rel=\"prev\"", "https://a.example; rel=\"next\"", "<a; rel=\"next\"",
                           "a>; rel=\"next\"", "rel=\"next\" <a>", ""}) {
    EXPECT_EQ(next(none), "") << none;
  }
}

TEST(Listings, HaveFilesOfFolders) {
  const std::string digest(40, 'a');
  const auto files = files_of_listing(
      R"([{"type": "directory", "path": "x"}, {"type": "file", "path": "x/y z.txt", "size": 3, "oid": ")" + digest +
          R"("}])",
      "the list");
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].path, "x/y z.txt");
  EXPECT_FALSE(files[0].is_in_top_folder());
  EXPECT_EQ(path_quoted(files[0].path), "x/y%20z.txt");
  EXPECT_EQ(path_quoted("a?b#c/d%"), "a%3Fb%23c/d%25");
  test::expect_error(ErrorKind::kFormat, {"the list", "must be an array"}, [] { files_of_listing("{}", "the list"); });
  test::expect_error(ErrorKind::kFormat, {"the answer", "40 hexadecimal digits"},
                     [] { commit_of_answer(R"({"sha": "ABC"})", "the answer"); });
}

TEST(References, AreOneCommit) {
  const std::string commit(40, '1');
  EXPECT_EQ(commit_of_reference(commit + " \r\n"), commit);
  for (const std::string& none :
       {std::string(), std::string("\n"), concat(commit, "\n", commit), "../" + commit, commit + "1"}) {
    EXPECT_FALSE(commit_of_reference(none)) << none;
  }
}

struct PatternCase {
  const char* path;
  const char* pattern;
  bool fits;
};

TEST(FilePatterns, AreThoseOfPython) {
  constexpr PatternCase kCases[] = {
      {"config.json", "*.json", true},
      {"onnx/config.json", "*.json", true},
      {"config.json", "config.json", true},
      {"Config.json", "config.json", false},
      {"config.jsonl", "*.json", false},
      {"onnx/a/b", "onnx/*", true},
      {"onnx/a/b", "onnx/", true},
      {"onnx", "onnx/", false},
      {"a", "?", true},
      {"a/b", "a?b", true},
      {"", "*", true},
      {"", "", true},
      {"a", "", false},
      {".hidden", "*", true},
      {"model-01.bin", "model-[0-9]?.*", true},
      {"model-x1.bin", "model-[0-9]?.*", false},
      {"a", "[!b]", true},
      {"b", "[!b]", false},
      {"]", "[]]", true},
      {"a", "[]]", false},
      {"-", "[a-]", true},
      {"[a", "[a", true},
      {"a\\b", "a\\b", true},
      {"a*b", "a[*]b", true},
      {"axb", "a[*]b", false},
      {"abcabd", "*ab?", true},
      {"aXbXc", "a*b*c", true},
      {"aXbX", "a*b*c", false},
      {"aaa", "a**a", true},
      {"!", "[!!]", false},
  };
  for (const PatternCase& one : kCases) {
    EXPECT_EQ(fits_pattern(one.path, one.pattern), one.fits) << one.path << ' ' << one.pattern;
  }
}

// A matcher that tries every place of every star needs years for this one.
TEST(FilePatterns, WithManyStarsTakeNoTime) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) {
    pattern += "*a";
  }
  EXPECT_FALSE(fits_pattern(std::string(1000, 'a') + "c", pattern + "*b"));
  EXPECT_TRUE(fits_pattern(std::string(1000, 'a'), pattern));
}

// Brackets that nothing closes, sets and stars, as long as the path: a matcher whose cost is the product of the
// lengths, or looks for each bracket's end again, needs minutes.
TEST(FilePatterns, AsLongAsThePathTakeNoTime) {
  for (const std::string part : {".[a", "[a-z]", "?", "a", "*a"}) {
    std::string pattern = "*";
    while (pattern.size() < 20'000) {
      pattern += part;
    }
    EXPECT_FALSE(fits_pattern(pattern + pattern, pattern + "b")) << part;
  }
}

// More parts than a word of the matcher has bits: each length on both sides of a word.
TEST(FilePatterns, OfEveryLengthFitThemselvesAlone) {
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string path(length, 'a');
    EXPECT_TRUE(fits_pattern(path, path));
    EXPECT_TRUE(fits_pattern(path, path + "*"));
    EXPECT_FALSE(fits_pattern(path, path + "?"));
    EXPECT_FALSE(fits_pattern(path + "a", path));
    EXPECT_TRUE(fits_pattern(path + "a", path + "*[a-b]"));
  }
}

}  // namespace
}  // namespace weft::hub
