// SPDX-License-Identifier: Apache-2.0
// The table of kinds, and replies of JSON.
#include "weft/server/http_error.h"

#include <cmath>
#include <cstdint>
#include <new>

#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/gpu_memory.h"
#include "weft/server/forms/error_shape.h"
#include "weft/server/forms/form_body.h"

namespace weft::server {
namespace {

constexpr std::size_t kLongestReason = 2000;  // bytes

struct Row {
  ErrorKind kind;
  int status;
  const char* type;
};

constexpr Row kTable[] = {
    {ErrorKind::kArgument, 400, "validation"},     {ErrorKind::kExpression, 400, "validation"},
    {ErrorKind::kFormat, 400, "validation"},       {ErrorKind::kIo, 500, "backend"},
    {ErrorKind::kNumeric, 424, "backend"},         {ErrorKind::kUnsupported, 422, "unsupported"},
    {ErrorKind::kInterrupted, 503, "unavailable"},
};

const Row& row_of(ErrorKind kind) {
  for (const Row& row : kTable) {
    if (row.kind == kind) {
      return row;
    }
  }
  return kTable[0];
}

// A number without a fraction is an integer, as JSON Schema has it: 1.0 is 1. Those beyond 64 bits stay as they are.
void make_whole(formats::Json& json) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (json.is_structured()) {
    for (formats::Json& one : json) {
      make_whole(one);
    }
  } else if (json.is_number_float()) {
    const double number = json.get<double>();
    if (number >= -kEnd && number < kEnd && std::trunc(number) == number) {
      json = static_cast<std::int64_t>(number);
    }
  }
}

}  // namespace

Reply json_reply(const formats::Json& json) { return {.body = formats::print_json(json) + "\n"}; }

formats::Json json_object(const Request& request) {
  if (request.body.empty()) {
    fail(ErrorKind::kFormat, "the request has no body; expected a JSON object");
  }
  if (is_multipart(request.body) || form_fields(request.body)) {
    fail(ErrorKind::kFormat,
         "the request's body is a form; expected a JSON object, with Content-Type: application/json");
  }
  formats::Json json = formats::parse_json(request.body, "the request's body");
  if (!json.is_object()) {
    fail(ErrorKind::kFormat, "the request's body is JSON of type ", json.type_name(), "; expected an object");
  }
  make_whole(json);
  return json;
}

std::string key_of(const Request& request) {
  try {
    const formats::Json body = json_or_form(request);
    const auto key = body.find("api_key");
    return key != body.end() && key->is_string() ? key->get<std::string>() : "";
  } catch (const Error&) {
    return {};
  }
}

Reply error_reply(int status, Failure failure) {
  Reply reply{.status = status, .failure = std::move(failure)};
  shape_error(reply, ErrorShape::kPlain);
  return reply;
}

Reply error_reply(int status, const std::string& type, const std::string& message) {
  return error_reply(status, {.type = type, .message = message});
}

Reply error_reply(const std::exception& failure) {
  if (const auto* http = dynamic_cast<const HttpError*>(&failure)) {
    return error_reply(http->status(), http->failure());
  }
  if (const auto* error = dynamic_cast<const Error*>(&failure)) {
    const Row& row = row_of(error->kind());
    if (error->kind() == ErrorKind::kIo) {  // its message names a file of this machine
      log_error("a request failed: ", quote(error->what(), kLongestReason));
      return error_reply(row.status, row.type, "a file could not be read or written; the server's log says which");
    }
    const std::string hint = error->hint().empty() ? "" : "; " + error->hint();
    return error_reply(row.status, row.type, error->what() + hint);
  }
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr || !missing_gpu_memory(failure.what()).empty()) {
    return error_reply(status::kUnavailable, "overloaded", "not enough memory for this request");
  }
  log_error("a request failed: ", quote(failure.what(), kLongestReason));
  return error_reply(status::kInternal, "internal", "the request failed inside the server; its log says why");
}

}  // namespace weft::server
