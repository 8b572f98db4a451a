// SPDX-License-Identifier: Apache-2.0
// huggingface_hub's constants.py, as far as downloads need it.
#include "weft/hub/settings.h"

#include <algorithm>
#include <optional>

#include "weft/core/environment.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/number.h"
#include "weft/core/quote.h"

namespace weft::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongestToken = 4096;

// A variable that is set to something.
std::optional<std::string> given(const char* name) {
  std::optional<std::string> value = environment(name);
  return value && !value->empty() ? value : std::nullopt;
}

fs::path with_home(const std::string& path) {
  const bool home = path == "~" || path.starts_with("~/");
  return home ? fs::path(given("HOME").value_or("/")) / path.substr(std::min<std::size_t>(path.size(), 2))
              : fs::path(path);
}

// HF_HOME, with its default.
fs::path hub_home() {
  if (const auto home = given("HF_HOME")) {
    return with_home(*home);
  }
  const auto cache = given("XDG_CACHE_HOME");
  return (cache ? with_home(*cache) : with_home("~/.cache")) / "huggingface";
}

fs::path hub_cache(const fs::path& home) {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const auto cache = given(name)) {
      return with_home(*cache);
    }
  }
  return home / "hub";
}

// Without the blanks and line ends of a file. What else is no part of a token could end a header and begin another.
std::string clean_token(std::string token, const std::string& where) {
  const auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  token.erase(std::find_if_not(token.rbegin(), token.rend(), blank).base(), token.end());
  token.erase(token.begin(), std::ranges::find_if_not(token, blank));
  require(std::ranges::all_of(token, [](char c) { return c > 32 && c < 127; }), where,
          " must be one word of ASCII characters");
  return token;
}

std::string token_of(const fs::path& home) {
  if (environment_is_true("HF_HUB_DISABLE_IMPLICIT_TOKEN")) {
    return {};
  }
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (const auto token = given(name)) {
      return clean_token(*token, name);
    }
  }
  const auto path = given("HF_TOKEN_PATH");
  const fs::path file = path ? with_home(*path) : home / "token";
  std::error_code error;
  if (!fs::exists(file, error)) {
    return {};
  }
  return clean_token(read_file(file, kLongestToken), quote(file.native(), 4096));
}

template <typename Number>
void read_seconds(const char* name, Number lowest, Number& seconds) {
  const auto text = given(name);
  if (!text) {
    return;
  }
  const std::optional<Number> number = number_of<Number>(*text);
  require(number && *number >= lowest && *number <= Number{86400}, name, " must be a number of seconds from ", lowest,
          " to 86400, found ", Quoted(*text));
  seconds = *number;
}

}  // namespace

HubSettings settings_of_environment() {
  HubSettings settings;
  const fs::path home = hub_home();
  settings.cache = fs::absolute(hub_cache(home)).lexically_normal();
  if (const auto endpoint = given("HF_ENDPOINT")) {
    settings.endpoint = *endpoint;
  }
  while (settings.endpoint.ends_with('/')) {
    settings.endpoint.pop_back();
  }
  require(settings.endpoint.starts_with("https://") || settings.endpoint.starts_with("http://"),
          "HF_ENDPOINT must begin with https:// or http://, found ", Quoted(settings.endpoint));
  settings.offline = environment_is_true("HF_HUB_OFFLINE") || environment_is_true("TRANSFORMERS_OFFLINE");
  read_seconds("HF_HUB_ETAG_TIMEOUT", 1L, settings.answer_seconds);
  read_seconds("HF_HUB_DOWNLOAD_TIMEOUT", 1L, settings.stall_seconds);
  read_seconds("WEFT_HUB_LISTING_SECONDS", 0.01, settings.listing_seconds);
  read_seconds("WEFT_HUB_RETRY_SECONDS", 0.0, settings.retry_seconds);
  return settings;
}

std::string token_of_environment() { return token_of(hub_home()); }

}  // namespace weft::hub
