// SPDX-License-Identifier: Apache-2.0
// The Hub's addresses: which commit a revision is, what files a commit has, and the bytes of one. A token goes to the
// Hub's own origin (scheme, host and port) and to no other, wherever a redirect leads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/hub/http.h"
#include "weft/hub/model_name.h"
#include "weft/hub/settings.h"

namespace weft::hub {

/// A file in the top folder of a repository.
struct HubFile {
  std::string path;        ///< a plain file name
  std::uint64_t size = 0;  ///< bytes
  std::string etag;        ///< 64 digits: SHA-256 of its bytes; 40: git's SHA-1
};

/// An answer that another attempt may better: connections that break or stall, 408, 429 and 5xx.
struct Attempt {
  HttpAnswer answer;
  std::string host;  ///< which answered last
  bool again = false;
  double wait_seconds = 0;  ///< what the server asked for, 0 where it asked for nothing

  /// "<host> answered 503", or how the transfer broke off.
  std::string reason() const;
};

/// Asks the Hub. Errors of all: kIo where it cannot be reached or refuses, with what to do; kFormat for an answer that
/// is none; kInterrupted.
class HubClient {
 public:
  explicit HubClient(HubSettings settings);

  const HubSettings& settings() const noexcept { return settings_; }
  /// The commit that the name's revision is now.
  std::string commit(const ModelName& name);
  /// The files of the top folder at `commit`, in the Hub's order. Folders are left out.
  std::vector<HubFile> files(const ModelName& name, const std::string& commit);
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

  HubSettings settings_;
  std::string token_;
  HttpClient http_;
};

/// A piece of an address with all but letters, digits and "-._~" as %XX.
std::string url_quoted(std::string_view text);

}  // namespace weft::hub
