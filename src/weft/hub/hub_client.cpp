// SPDX-License-Identifier: Apache-2.0
// Answers come from elsewhere: names, sizes and digests are checked here, and bodies are bounded.
#include "weft/hub/hub_client.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/number.h"
#include "weft/core/one_line.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"

namespace weft::hub {
namespace {

using formats::Json;

constexpr int kMostRedirects = 10;
constexpr int kMostListingAttempts = 5;
constexpr int kMostConnections = 2;  // where nobody answers: perhaps there is no network, or the name was a slip
constexpr int kMostPages = 100;
constexpr std::size_t kMostListingBytes = std::size_t{16} << 20;
constexpr std::size_t kMostIdleBytes = std::size_t{1} << 20;  // of a body that nobody reads: redirects, refusals
constexpr double kLongestWait = 60;

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_content(long status) { return status == 200 || status == 206; }

bool is_passing(long status) { return status == 408 || status == 429 || (status >= 500 && status <= 599); }

// Retry-After in seconds, or the "t=" of the Hub's ratelimit header; 0 for none.
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

// The address in `<...>; rel="next"`, or nothing.
std::string next_page(const HttpAnswer& answer) {
  const std::string link = answer.header("link");
  const std::size_t open = link.find('<');
  const std::size_t close = link.find('>', open == std::string::npos ? 0 : open);
  const bool next = close != std::string::npos && link.find("rel=\"next\"", close) != std::string::npos;
  return next ? link.substr(open + 1, close - open - 1) : std::string();
}

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

bool is_plain_file_name(const std::string& name) {
  const bool control = std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 32; });
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." && !control &&
         name.find('/') == std::string::npos;
}

// A large file is stored under the SHA-256 that "lfs" names, any other under git's SHA-1.
HubFile file_of(const Json& entry, const std::string& where) {
  const bool large = entry.contains("lfs") && entry["lfs"].is_object();
  const Json& stored = large ? entry["lfs"] : entry;
  HubFile file;
  file.path = text_member(entry, "path", where);
  file.etag = text_member(stored, "oid", where);
  const Json& size = member(stored, "size", where);
  if (!is_plain_file_name(file.path)) {
    fail(ErrorKind::kFormat, where, ": ", quote(file.path), " is no file name");
  }
  if (!is_hex(file.etag, large ? 64 : 40)) {
    fail(ErrorKind::kFormat, where, ": the digest of ", quote(file.path), " must have ", large ? 64 : 40,
         " hexadecimal digits, found ", quote(file.etag));
  }
  if (!size.is_number_unsigned() || size.get<std::uint64_t>() > std::uint64_t{1} << 46) {
    fail(ErrorKind::kFormat, where, ": the size of ", quote(file.path), " must be a number of bytes, found ",
         one_line(size.dump(-1, ' ', true, Json::error_handler_t::replace), 40));
  }
  file.size = size.get<std::uint64_t>();
  return file;
}

}  // namespace

std::string Attempt::reason() const {
  return answer.problem.empty() ? concat(host, " answered ", answer.status) : concat(host, ": ", answer.problem);
}

HubClient::HubClient(HubSettings settings) : settings_(std::move(settings)), token_(token_of_environment()) {}

// From address to address. A step from https to http would show what is sent, and is not taken.
Attempt HubClient::follow(std::string url, HttpRequest request, const BodySink& sink) {
  const std::string home = origin_of(settings_.endpoint);
  Attempt attempt;
  std::size_t idle = 0;
  const BodySink wanted = [&](const HttpAnswer& answer, std::string_view bytes) {
    idle += is_content(answer.status) ? 0 : bytes.size();
    return is_content(answer.status) ? sink(answer, bytes) : idle <= kMostIdleBytes;
  };
  for (int step = 0; step <= kMostRedirects; ++step) {
    request.token = origin_of(url) == home ? token_ : std::string();
    request.url = url;
    attempt.host = host_of(url);
    attempt.answer = http_.get(request, wanted);
    attempt.answer.stopped = attempt.answer.stopped && is_content(attempt.answer.status);
    if (!is_redirect(attempt.answer.status)) {
      // A signed address may have run out: 403 from another host means to ask the Hub for a new one.
      const bool elsewhere = attempt.answer.status == 403 && origin_of(url) != home;
      attempt.again = elsewhere || !attempt.answer.problem.empty() || is_passing(attempt.answer.status);
      attempt.wait_seconds = asked_wait(attempt.answer);
      return attempt;
    }
    const std::string location = attempt.answer.header("location");
    const std::string next = location.empty() ? location : resolved_url(url, location);
    if (next.empty() || (url.starts_with("https:") && !next.starts_with("https:"))) {
      fail(ErrorKind::kIo, attempt.host, " redirects to where Weft does not follow: ", quote(location, 40));
    }
    url = next;
  }
  fail(ErrorKind::kIo, attempt.host, " redirects more than ", kMostRedirects, " times");
}

void HubClient::wait(int attempt, double asked_seconds) const {
  const double doubled = settings_.retry_seconds * std::exp2(std::clamp(attempt - 2, 0, 5));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::max(doubled, asked_seconds));
  do {
    if (interrupted()) {
      fail(ErrorKind::kInterrupted, "stopped while waiting for ", host_of(settings_.endpoint));
    }
    std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(
        std::chrono::milliseconds(100), std::max(end - std::chrono::steady_clock::now(), {})));
  } while (std::chrono::steady_clock::now() < end);
}

void HubClient::refuse(const ModelName& name, const Attempt& attempt) const {
  const long status = attempt.answer.status;
  const std::string code = attempt.answer.header("x-error-code");
  const std::string at = concat(" (", attempt.host, " answered ", status, ")");
  const std::string account = token_.empty() ? "set HF_TOKEN to a token that may read it"
                                             : "the token that was found may not read it: set HF_TOKEN";
  if (code == "GatedRepo" || status == 403) {
    throw Error(ErrorKind::kIo, concat("the model ", quote(name.text()), " is not open to everybody", at),
                "ask for access at " + settings_.endpoint + "/" + name.repository + ", then " + account);
  }
  if (code == "RevisionNotFound") {
    throw Error(ErrorKind::kIo,
                concat("the model ", quote(name.repository), " has no revision ", quote(name.revision), at),
                "name a branch, a tag or a commit behind the @");
  }
  if (status == 401 || code == "RepoNotFound" || status == 404) {
    throw Error(ErrorKind::kIo,
                concat("there is no directory ", quote(name.text()),
                       " here, and no such model that may be read on the Hub", at),
                "correct the name; where the model is private, " + account);
  }
  throw Error(
      ErrorKind::kIo,
      concat("cannot download ", quote(name.text()), ", of which there is no directory here: ", attempt.reason()),
      attempt.again ? "try again later, or name a directory; a model in the cache needs no network" : "");
}

// A page of a listing. `next` becomes the address of the next one, on the Hub itself, or nothing.
std::string HubClient::get_text(const ModelName& name, const std::string& url, std::string& next) {
  for (int attempt = 1;; ++attempt) {
    std::string text;
    HttpRequest request;
    request.stall_seconds = settings_.answer_seconds;
    const Attempt got = follow(url, request, [&](const HttpAnswer&, std::string_view bytes) {
      text += bytes;
      return text.size() <= kMostListingBytes;
    });
    if (got.answer.stopped) {
      fail(ErrorKind::kFormat, got.host, " lists ", quote(name.text()), " in more than 16 MiB");
    }
    if (got.answer.problem.empty() && got.answer.status == 200) {
      const std::string page = next_page(got.answer);
      next = page.empty() ? page : resolved_url(url, page);
      if (!page.empty() && origin_of(next) != origin_of(settings_.endpoint)) {
        fail(ErrorKind::kFormat, got.host, " lists ", quote(name.text()), " further on another host");
      }
      return text;
    }
    if (!got.again || attempt >= (got.answer.status == 0 ? kMostConnections : kMostListingAttempts)) {
      refuse(name, got);
    }
    wait(attempt + 1, got.wait_seconds);
  }
}

std::string HubClient::commit(const ModelName& name) {
  const std::string url =
      concat(settings_.endpoint, "/api/models/", name.repository, "/revision/", url_quoted(name.revision));
  const std::string where = concat("the answer of ", host_of(url), " about ", quote(name.text()));
  std::string next;
  std::string commit = text_member(formats::parse_json(get_text(name, url, next), where), "sha", where);
  if (!is_hex(commit, 40)) {
    fail(ErrorKind::kFormat, where, ": the commit must have 40 hexadecimal digits, found ", quote(commit));
  }
  return commit;
}

std::vector<HubFile> HubClient::files(const ModelName& name, const std::string& commit) {
  std::string url = concat(settings_.endpoint, "/api/models/", name.repository, "/tree/", commit);
  const std::string where = concat("the list of files of ", host_of(url), " for ", quote(name.text()));
  std::vector<HubFile> files;
  for (int page = 0; !url.empty(); ++page) {
    if (page == kMostPages) {
      fail(ErrorKind::kFormat, where, " has more than ", kMostPages, " pages");
    }
    std::string next;
    const Json entries = formats::parse_json(get_text(name, url, next), where);
    if (!entries.is_array()) {
      fail(ErrorKind::kFormat, where, " must be an array, found ", entries.type_name());
    }
    for (const Json& entry : entries) {
      if (text_member(entry, "type", where) == "file") {
        files.push_back(file_of(entry, where));
      }
    }
    url = next;
  }
  return files;
}

Attempt HubClient::fetch(const ModelName& name, const std::string& commit, const HubFile& file, std::uint64_t from,
                         const BodySink& sink) {
  HttpRequest request;
  request.from = from;
  request.stall_seconds = settings_.stall_seconds;
  return follow(concat(settings_.endpoint, "/", name.repository, "/resolve/", commit, "/", url_quoted(file.path)),
                request, sink);
}

std::string url_quoted(std::string_view text) {
  constexpr std::string_view kUpperHex = "0123456789ABCDEF";
  std::string quoted;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    quoted += plain ? std::string(1, c) : std::string{'%', kUpperHex[byte >> 4], kUpperHex[byte & 15U]};
  }
  return quoted;
}

}  // namespace weft::hub
