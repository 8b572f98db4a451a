// SPDX-License-Identifier: Apache-2.0
// Addresses, redirects and attempts. Bodies that nobody reads are bounded in bytes and in time, listings too.
#include "weft/hub/hub_client.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/quote.h"

namespace weft::hub {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostRedirects = 10;
constexpr int kMostListingAttempts = 5;
constexpr int kMostConnections = 2;  // where nobody answers: perhaps there is no network, or the name was a slip
constexpr int kMostPages = 100;
constexpr std::size_t kMostListingBytes = std::size_t{16} << 20;
constexpr std::size_t kMostIdleBytes = std::size_t{1} << 20;  // of a body that nobody reads: redirects, refusals

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_content(long status) { return status == 200 || status == 206; }

bool is_passing(long status) { return status == 408 || status == 429 || (status >= 500 && status <= 599); }

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
  std::optional<Clock::time_point> idle_since;
  const BodySink wanted = [&](const HttpAnswer& answer, std::string_view bytes) {
    if (is_content(answer.status)) {
      return sink(answer, bytes);
    }
    idle += bytes.size();
    idle_since = idle_since.value_or(Clock::now());
    return idle <= kMostIdleBytes && Clock::now() - *idle_since < std::chrono::seconds(settings_.answer_seconds);
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

// Of a server that sends a little for ever, or asks to wait for longer than there is time.
void HubClient::fail_late(const ModelName& name, const Attempt& attempt) const {
  throw Error(ErrorKind::kIo,
              concat("cannot download ", quote(name.text()), ": its list of files did not come within ",
                     settings_.listing_seconds, " seconds: ", attempt.reason()),
              "try again later; WEFT_HUB_LISTING_SECONDS is the time that a list may take");
}

// A page of a listing. `next` becomes the address of the next one, on the Hub itself, or nothing.
std::string HubClient::get_text(const ModelName& name, const std::string& url, std::string& next) {
  for (int attempt = 1;; ++attempt) {
    std::string text;
    HttpRequest request;
    request.stall_seconds = settings_.answer_seconds;
    request.end = listing_end_;
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
    if (got.again && Clock::now() + std::chrono::duration<double>(got.wait_seconds) >= listing_end_) {
      fail_late(name, got);
    }
    if (!got.again || attempt >= (got.answer.status == 0 ? kMostConnections : kMostListingAttempts)) {
      refuse(name, got);
    }
    wait(attempt + 1, got.wait_seconds);
  }
}

std::string HubClient::commit(const ModelName& name) {
  begin_listing();
  const std::string url =
      concat(settings_.endpoint, "/api/models/", name.repository, "/revision/", url_quoted(name.revision));
  const std::string where = concat("the answer of ", host_of(url), " about ", quote(name.text()));
  std::string next;
  return commit_of_answer(get_text(name, url, next), where);
}

std::vector<HubFile> HubClient::files(const ModelName& name, const std::string& commit, Folders folders) {
  begin_listing();
  std::string url = concat(settings_.endpoint, "/api/models/", name.repository, "/tree/", commit,
                           folders == Folders::kAll ? "?recursive=true" : "");
  const std::string where = concat("the list of files of ", host_of(url), " for ", quote(name.text()));
  std::vector<HubFile> files;
  for (int page = 0; !url.empty(); ++page) {
    if (page == kMostPages) {
      fail(ErrorKind::kFormat, where, " has more than ", kMostPages, " pages");
    }
    std::string next;
    std::ranges::move(files_of_listing(get_text(name, url, next), where), std::back_inserter(files));
    url = next;
  }
  if (folders == Folders::kTop) {  // whatever a server lists
    std::erase_if(files, [](const HubFile& file) { return !file.is_in_top_folder(); });
  }
  return files;
}

void HubClient::begin_listing() {
  listing_end_ = Clock::now() +
                 std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(settings_.listing_seconds));
}

Attempt HubClient::fetch(const ModelName& name, const std::string& commit, const HubFile& file, std::uint64_t from,
                         const BodySink& sink) {
  HttpRequest request;
  request.from = from;
  request.stall_seconds = settings_.stall_seconds;
  return follow(concat(settings_.endpoint, "/", name.repository, "/resolve/", commit, "/", path_quoted(file.path)),
                request, sink);
}

std::string path_quoted(std::string_view path) {
  std::string quoted;
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    quoted += url_quoted(path.substr(0, slash)) + '/';
    path.remove_prefix(slash + 1);
  }
  return quoted + url_quoted(path);
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
