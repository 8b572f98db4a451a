// SPDX-License-Identifier: Apache-2.0
// dlopen with RTLD_LOCAL: libcurl, OpenSSL and what they need bind to each other, and nobody else to them.
#include "weft/hub/curl_library.h"

#include <dlfcn.h>

#include "weft/core/error.h"
#include "weft/core/one_line.h"

namespace weft::hub {
namespace {

constexpr const char* kCurlFile = "libcurl.so.4";

[[noreturn]] void fail_without_curl() {
  const char* const reason = dlerror();
  throw Error(ErrorKind::kUnsupported,
              concat("cannot download: ", kCurlFile, " does not load: ", one_line(reason != nullptr ? reason : "")),
              "install libcurl (Debian: apt-get install libcurl4), or name a model directory of this machine");
}

template <typename Function>
void find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    fail_without_curl();
  }
}

CurlLibrary open_curl() {
  void* const library = dlopen(kCurlFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail_without_curl();
  }
  CurlLibrary found;
  find_function(library, "curl_global_init", found.global_init);
  find_function(library, "curl_easy_init", found.easy_init);
  find_function(library, "curl_easy_cleanup", found.easy_cleanup);
  find_function(library, "curl_easy_reset", found.easy_reset);
  find_function(library, "curl_easy_setopt", found.easy_setopt);
  find_function(library, "curl_easy_getinfo", found.easy_getinfo);
  find_function(library, "curl_easy_perform", found.easy_perform);
  find_function(library, "curl_easy_strerror", found.easy_strerror);
  find_function(library, "curl_slist_append", found.slist_append);
  find_function(library, "curl_slist_free_all", found.slist_free_all);
  find_function(library, "curl_url", found.url);
  find_function(library, "curl_url_cleanup", found.url_cleanup);
  find_function(library, "curl_url_set", found.url_set);
  find_function(library, "curl_url_get", found.url_get);
  find_function(library, "curl_free", found.free);
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
