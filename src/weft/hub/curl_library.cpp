// SPDX-License-Identifier: Apache-2.0
// dlopen with RTLD_LOCAL: libcurl, OpenSSL and what they need bind to each other, and nobody else to them.
#include "weft/hub/curl_library.h"

#include "weft/core/error.h"
#include "weft/core/system/opened_library.h"

namespace weft::hub {
namespace {

constexpr const char* kCurlFile = "libcurl.so.4";

CurlLibrary open_curl() {
  const OpenedLibrary library(
      kCurlFile, "cannot download",
      "install libcurl (Debian: apt-get install libcurl4), or name a model directory of this machine");
  CurlLibrary found;
  library.find("curl_global_init", found.global_init);
  library.find("curl_easy_init", found.easy_init);
  library.find("curl_easy_cleanup", found.easy_cleanup);
  library.find("curl_easy_reset", found.easy_reset);
  library.find("curl_easy_setopt", found.easy_setopt);
  library.find("curl_easy_getinfo", found.easy_getinfo);
  library.find("curl_easy_perform", found.easy_perform);
  library.find("curl_easy_strerror", found.easy_strerror);
  library.find("curl_slist_append", found.slist_append);
  library.find("curl_slist_free_all", found.slist_free_all);
  library.find("curl_url", found.url);
  library.find("curl_url_cleanup", found.url_cleanup);
  library.find("curl_url_set", found.url_set);
  library.find("curl_url_get", found.url_get);
  library.find("curl_free", found.free);
  if (found.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    throw Error(ErrorKind::kUnsupported, concat("cannot download: ", kCurlFile, " does not start"));
  }
  return found;
}

}  // namespace

const CurlLibrary& curl() {
  static const CurlLibrary library = open_curl();
  return library;
}

}  // namespace weft::hub
