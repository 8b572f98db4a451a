// SPDX-License-Identifier: Apache-2.0
// The Hub's addresses: which commit a revision is, what files a commit has, and the bytes of one. A token goes to the
// Hub's own origin (scheme, host and port) and to no other, wherever a redirect leads.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/hub/answers.h"
#include "weft/hub/http.h"
#include "weft/hub/model_name.h"
#include "weft/hub/settings.h"

namespace weft::hub {

/// An answer that another attempt may better: connections that break or stall, 408, 429 and 5xx.
struct Attempt {
  HttpAnswer answer;
  std::string host;  ///< which answered last
  bool again = false;
  double wait_seconds = 0;  ///< what the server asked for, 0 where it asked for nothing

  /// "<host> answered 503", or how the transfer broke off.
  std::string reason() const;
};

/// Which files a listing has: those of the repository's own folder, or also those below it.
enum class Folders : std::uint8_t { kTop, kAll };

/// Asks the Hub. Errors of all: kIo where it cannot be reached or refuses, with what to do; kFormat for an answer that
/// is none; kInterrupted.
class HubClient {
 public:
  explicit HubClient(HubSettings settings);

  const HubSettings& settings() const noexcept { return settings_; }
  /// The commit that the name's revision is now. This and files() take listing_seconds each at most, however slowly a
  /// server sends.
  std::string commit(const ModelName& name);
  /// The files at `commit`, in the Hub's order.
  std::vector<HubFile> files(const ModelName& name, const std::string& commit, Folders folders = Folders::kTop);
  /// One attempt at the bytes of a file from `from` on. `sink` sees bodies of 200 and 206 only.
  Attempt fetch(const ModelName& name, const std::string& commit, const HubFile& file, std::uint64_t from,
                const BodySink& sink);
  /// Throws what an answer that is final means for the model: 401, 403, 404 and others.
  [[noreturn]] void refuse(const ModelName& name, const Attempt& attempt) const;
  /// Sleeps before attempt `attempt` (2, 3, ...): doubled each time, or as long as the server asked for. Errors:
  /// kInterrupted.
  void wait(int attempt, double asked_seconds) const;

 private:
  Attempt follow(std::string url, HttpRequest request, const BodySink& sink);
  std::string get_text(const ModelName& name, const std::string& url, std::string& next);
  void begin_listing();
  [[noreturn]] void fail_late(const ModelName& name, const Attempt& attempt) const;

  HubSettings settings_;
  std::string token_;
  std::chrono::steady_clock::time_point listing_end_;
  HttpClient http_;
};

/// A piece of an address with all but letters, digits and "-._~" as %XX.
std::string url_quoted(std::string_view text);

/// The same of a path, whose slashes stay.
std::string path_quoted(std::string_view path);

}  // namespace weft::hub
