// SPDX-License-Identifier: Apache-2.0
// How the tasks read the body of a request: types are checked here, so that a client's mistake is one line with status
// 400.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/formats/config_json.h"
#include "weft/server/message.h"

namespace weft::requests {

/// The texts of a request, and whether they came as a list, so that results go back as one.
struct TextInputs {
  std::vector<server::Text> texts;
  bool list = false;
};

/// The members of a text that is read with another, as an object.
inline constexpr const char* kText = "text";
inline constexpr const char* kTextPair = "text_pair";

/// The texts of member `key`: a string, or a list of strings; where the task reads two texts together also an object
/// with the members `first` and `second`. Errors: kArgument for anything else, and for no text at all.
TextInputs read_texts(const formats::Json& body, const std::string& key, const std::string& first = {},
                      const std::string& second = {});

/// Errors: kArgument naming a member of `body` that is none of `known`.
void require_known_members(const formats::Json& body, const std::vector<std::string_view>& known);

/// The member `key`, a string, or "" where there is none. Errors: kArgument for another type.
std::string string_member(const formats::Json& body, const std::string& key);

/// Whether the request asks for its answer piece by piece: "stream". Errors: kArgument for no true or false.
bool wants_pieces(const formats::Json& body);

/// The member `key`, or nothing where there is none or it is null. Errors: kArgument for another type.
std::optional<bool> optional_flag(const formats::Json& body, const std::string& key);
std::optional<std::string> optional_text(const formats::Json& body, const std::string& key);
/// An integer of [minimum, maximum]. Errors: kArgument for others, too.
std::optional<std::int64_t> optional_count(const formats::Json& body, const std::string& key, std::int64_t minimum,
                                           std::int64_t maximum);

/// The member `key`, a list of at least one string. Errors: kArgument for anything else.
std::vector<std::string> text_list(const formats::Json& body, const std::string& key);

/// For messages: where a request asks that a text which is too long is cut.
inline constexpr const char* kTruncationParameter = "'truncation' in 'parameters'";

/// The member "parameters", an empty object where there is none or it is null. Errors: kArgument for another type.
const formats::Json& parameters_of(const formats::Json& body);

/// The member "parameters" as `Config`. Errors: as parameters_of() and update_from_json.
template <typename Config>
Config read_parameters(const formats::Json& body) {
  Config config;
  formats::update_from_json(config, parameters_of(body), "parameters");
  return config;
}

}  // namespace weft::requests
