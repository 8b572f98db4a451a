// SPDX-License-Identifier: Apache-2.0
// Bodies of HTML forms, which LibreTranslate's clients and curl's -d send.
#pragma once

#include <optional>
#include <string_view>

#include "weft/formats/config_json.h"
#include "weft/server/message.h"

namespace weft::server {

/// The fields of a body of the type application/x-www-form-urlencoded ("q=Guten+Tag&source=de"), told by its content:
/// strings, and a list where a name comes several times. Nothing where the body is none. Errors: kFormat for a broken
/// escape, text that is not UTF-8, and more than 64 fields.
std::optional<formats::Json> form_fields(std::string_view body);

/// Whether the body is one of the type multipart/form-data, by its content.
bool is_multipart(std::string_view body) noexcept;

/// json_object(), or the fields of a form. Errors: those of both.
formats::Json json_or_form(const Request& request);

}  // namespace weft::server
