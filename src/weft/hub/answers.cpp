// SPDX-License-Identifier: Apache-2.0
// Listings in the Hub's JSON, and two headers.
#include "weft/hub/answers.h"

#include <algorithm>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/one_line.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/hub/model_name.h"

namespace weft::hub {
namespace {

using formats::Json;

constexpr double kLongestWait = 60;
constexpr std::size_t kLongestFileName = 255;
constexpr std::size_t kLongestFilePath = 1024;
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 46;

const Json& member(const Json& object, const char* name, const std::string& where) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) {
    fail(ErrorKind::kFormat, where, ": there is no field ", quote(name));
  }
  return *found;
}

std::string text_member(const Json& object, const char* name, const std::string& where) {
  const Json& value = member(object, name, where);
  if (!value.is_string()) {
    fail(ErrorKind::kFormat, where, ": ", quote(name), " must be a string, found ", value.type_name());
  }
  return value.get<std::string>();
}

bool is_plain_file_name(std::string_view name) {
  const bool control = std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 32; });
  return !name.empty() && name.size() <= kLongestFileName && name != "." && name != ".." && !control;
}

// Plain names, joined by single slashes: nothing that leads out of the repository's folder.
bool is_plain_path(std::string_view path) {
  if (path.size() > kLongestFilePath) {
    return false;
  }
  for (;;) {
    const std::size_t slash = path.find('/');
    if (!is_plain_file_name(path.substr(0, slash))) {
      return false;
    }
    if (slash == std::string_view::npos) {
      return true;
    }
    path.remove_prefix(slash + 1);
  }
}

// A large file is stored under the SHA-256 that "lfs" names, any other under git's SHA-1.
HubFile file_of(const Json& entry, const std::string& where) {
  const bool large = entry.contains("lfs") && entry["lfs"].is_object();
  const Json& stored = large ? entry["lfs"] : entry;
  HubFile file;
  file.path = text_member(entry, "path", where);
  file.etag = text_member(stored, "oid", where);
  const Json& size = member(stored, "size", where);
  if (!is_plain_path(file.path)) {
    fail(ErrorKind::kFormat, where, ": ", quote(file.path), " is no file name");
  }
  if (!is_hex(file.etag, large ? 64 : 40)) {
    fail(ErrorKind::kFormat, where, ": the digest of ", quote(file.path), " must have ", large ? 64 : 40,
         " hexadecimal digits, found ", quote(file.etag));
  }
  if (!size.is_number_unsigned() || size.get<std::uint64_t>() > kLargestFile) {
    fail(ErrorKind::kFormat, where, ": the size of ", quote(file.path), " must be a number of bytes, found ",
         one_line(size.dump(-1, ' ', true, Json::error_handler_t::replace), 40));
  }
  file.size = size.get<std::uint64_t>();
  return file;
}

}  // namespace

std::string commit_of_answer(std::string_view json, const std::string& where) {
  std::string commit = text_member(formats::parse_json(json, where), "sha", where);
  if (!is_hex(commit, 40)) {
    fail(ErrorKind::kFormat, where, ": the commit must have 40 hexadecimal digits, found ", quote(commit));
  }
  return commit;
}

std::vector<HubFile> files_of_listing(std::string_view json, const std::string& where) {
  const Json entries = formats::parse_json(json, where);
  if (!entries.is_array()) {
    fail(ErrorKind::kFormat, where, " must be an array, found ", entries.type_name());
  }
  std::vector<HubFile> files;
  for (const Json& entry : entries) {
    if (text_member(entry, "type", where) == "file") {
      files.push_back(file_of(entry, where));
    }
  }
  return files;
}

std::string next_page(const HttpAnswer& answer) {
  const std::string link = answer.header("link");
  const std::size_t open = link.find('<');
  const std::size_t close = link.find('>', open == std::string::npos ? 0 : open);
  const bool next =
      open != std::string::npos && close != std::string::npos && link.find("rel=\"next\"", close) != std::string::npos;
  return next ? link.substr(open + 1, close - open - 1) : std::string();
}

double asked_wait(const HttpAnswer& answer) {
  const std::string rate = answer.header("ratelimit");
  const std::size_t t = rate.find("t=");
  std::string text = answer.header("retry-after");
  if (text.empty() && t != std::string::npos) {
    text = rate.substr(t + 2, rate.find_first_not_of("0123456789", t + 2) - (t + 2));
  }
  const std::optional<std::int64_t> seconds = integer_of(text);
  return seconds && *seconds > 0 ? std::min(static_cast<double>(*seconds), kLongestWait) : 0;
}

}  // namespace weft::hub
