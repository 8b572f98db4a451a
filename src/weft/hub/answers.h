// SPDX-License-Identifier: Apache-2.0
// What answers of the Hub say. They come from elsewhere: names, sizes and digests are checked here, before one of them
// becomes a path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/hub/http.h"

namespace weft::hub {

/// A file of a repository.
struct HubFile {
  std::string path;        ///< below the repository: plain names, joined by slashes
  std::uint64_t size = 0;  ///< bytes
  std::string etag;        ///< 64 digits: SHA-256 of its bytes; 40: git's SHA-1

  /// Whether it lies in the repository itself, and not in a folder of it.
  bool is_in_top_folder() const { return path.find('/') == std::string::npos; }
};

/// The commit in the answer about a revision. Errors: kFormat naming `where`, for what is no JSON or names none.
std::string commit_of_answer(std::string_view json, const std::string& where);

/// The files in one page of a listing, in its order; folders are left out. Errors: kFormat naming `where` and what
/// is wrong.
std::vector<HubFile> files_of_listing(std::string_view json, const std::string& where);

/// Where the listing goes on: the address in `<...>; rel="next"` of its header Link, or nothing.
std::string next_page(const HttpAnswer& answer);

/// How many seconds a server asks to wait: Retry-After, or the "t=" of the Hub's header ratelimit; a minute at most,
/// 0 for none.
double asked_wait(const HttpAnswer& answer);

}  // namespace weft::hub
