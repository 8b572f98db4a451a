// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a Hub says or the cache holds: an answer about a revision, a listing, a head, the name of a model,
// of a folder, a reference, a pattern. Errors are one line, and what is let through can be a path below the cache.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support/tokenise.h"
#include "weft/hub/answers.h"
#include "weft/hub/cache.h"
#include "weft/hub/file_patterns.h"
#include "weft/hub/hub_client.h"
#include "weft/hub/model_name.h"
#include "weft/hub/needed_files.h"

namespace {

using namespace weft::hub;  // NOLINT(google-build-using-namespace): a program of its own

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// Below its folder, whatever the parts are: none is empty or leads up.
bool stays_below(std::string_view path) {
  const std::string slashed = "/" + std::string(path) + "/";
  return slashed.find("//") == std::string::npos && slashed.find("/../") == std::string::npos &&
         slashed.find("/./") == std::string::npos && path.find('\0') == std::string_view::npos;
}

void read_listing(std::string_view bytes) {
  std::vector<HubFile> files;
  weft::fuzz::one_line_errors([&] { files = files_of_listing(bytes, "the list"); });
  for (const HubFile& file : files) {
    expect(stays_below(file.path) && (is_hex(file.etag, 40) || is_hex(file.etag, 64)));
    const std::string quoted = path_quoted(file.path);
    expect(std::ranges::all_of(quoted, [](char c) { return c > 32 && c < 127 && c != '?' && c != '#'; }));
  }
  for (const Need need : {Need::kModel, Need::kTokenizer}) {
    weft::fuzz::one_line_errors([&] { expect(needed_files(files, need, "a/b").size() <= files.size()); });
  }
  weft::fuzz::one_line_errors([&] {
    expect(included_files(files, {.include = {"*.json", "sub/"}, .exclude = {"a*"}}, "a/b").size() <= files.size());
  });
  weft::fuzz::one_line_errors([&] { expect(is_hex(commit_of_answer(bytes, "the answer"), 40)); });
}

void read_head(std::string_view bytes) {
  HttpAnswer answer;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    answer.take_head_line(bytes.substr(0, end));
    bytes.remove_prefix(end);
  }
  const double wait = asked_wait(answer);
  expect(wait >= 0 && wait <= 60);
  expect(next_page(answer).find('>') == std::string::npos);
}

void read_names(std::string_view bytes) {
  if (const auto name = parse_model_name(bytes)) {
    expect(parse_model_name(name->text())->text() == name->text());
    expect(stays_below(name->repository) && stays_below(name->revision));
    expect(name->folder().find('/') == std::string::npos);
    expect(repository_of_folder(name->folder()) == name->repository);
  }
  if (const auto repository = repository_of_folder(bytes)) {
    expect(parse_model_name(*repository).has_value());
  }
  if (const auto commit = commit_of_reference(bytes)) {
    expect(is_hex(*commit, 40) && bytes.starts_with(*commit));
  }
  const std::string_view pattern = bytes.substr(0, bytes.size() / 2);
  (void)fits_pattern(bytes.substr(pattern.size()), pattern);
  expect(fits_pattern(pattern, "*"));
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_listing(bytes);
  read_head(bytes);
  read_names(bytes);
  return 0;
}
