// SPDX-License-Identifier: Apache-2.0
// Files of the page as replies. A browser asks for them before a person can give a key, and they say nothing about the
// models. They are no part of the API, and have no summary. Nothing in them may come from elsewhere or be written into
// the page as a script or a style.
#include "weft/page/page_routes.h"

#include <string>

#include "weft/page/page_files.h"

namespace weft::page {
namespace {

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

}  // namespace

void add_page_routes(server::Router& router, const std::optional<inspect::MachineRates>& rates) {
  for (const PageFile& file : page_files()) {
    router.open(std::string(file.path));
    router.add("GET", std::string(file.path),
               [file](const server::Request&) -> server::Answer {
                 return server::Reply{
                     .body = std::string(file.content),
                     .type = std::string(file.type),
                     .headers = {{"Content-Security-Policy", kPolicy}, {"Referrer-Policy", "no-referrer"}}};
               },
               {});
  }
  add_pattern_routes(router, rates);
}

}  // namespace weft::page
