// SPDX-License-Identifier: Apache-2.0
// libcurl, opened when the first model is downloaded and not before: it brings some thirty libraries, which would
// double the time of `weft --help`, and names of theirs that programs beside LibTorch should not see. Only http.cpp
// uses it.
#pragma once

#include <curl/curl.h>

namespace weft::hub {

/// The functions of libcurl that Weft calls, with the types of its header.
struct CurlLibrary {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_reset) easy_reset = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_perform) easy_perform = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
  decltype(&::curl_url) url = nullptr;
  decltype(&::curl_url_cleanup) url_cleanup = nullptr;
  decltype(&::curl_url_set) url_set = nullptr;
  decltype(&::curl_url_get) url_get = nullptr;
  decltype(&::curl_free) free = nullptr;
};

/// The library, opened once and never closed. Errors: kUnsupported where it is not installed, with what to install.
const CurlLibrary& curl();

}  // namespace weft::hub
