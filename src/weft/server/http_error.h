// SPDX-License-Identifier: Apache-2.0
// Failures as a client sees them: a status and {"error", "error_type"}, which a route of another API puts into its own
// shape (forms/error_shape.h). One table turns the kinds of weft::Error into statuses.
#pragma once

#include <exception>
#include <string>

#include "weft/core/error.h"
#include "weft/server/message.h"

namespace weft::server {

/// Statuses of HTTP that the server itself gives.
namespace status {
inline constexpr int kNoContent = 204;
inline constexpr int kBadRequest = 400;
inline constexpr int kUnauthorized = 401;
inline constexpr int kForbidden = 403;
inline constexpr int kNotFound = 404;
inline constexpr int kNoMethod = 405;
inline constexpr int kTooLarge = 413;
inline constexpr int kMediaType = 415;
inline constexpr int kExpectation = 417;
inline constexpr int kTooMany = 429;
inline constexpr int kHeadTooLarge = 431;
inline constexpr int kInternal = 500;
inline constexpr int kNotImplemented = 501;
inline constexpr int kUnavailable = 503;
inline constexpr int kVersion = 505;
}  // namespace status

/// A failure that has a status of its own. `type` is a word that a program may look at.
class HttpError : public std::runtime_error {
 public:
  HttpError(int status, std::string type, const std::string& message)
      : HttpError(status, Failure{.type = std::move(type), .message = message}) {}
  HttpError(int status, Failure failure)
      : std::runtime_error(failure.message), status_(status), failure_(std::move(failure)) {}
  int status() const noexcept { return status_; }
  const std::string& type() const noexcept { return failure_.type; }
  const Failure& failure() const noexcept { return failure_; }

 private:
  int status_;
  Failure failure_;
};

/// {"error": message, "error_type": type}; 429 and 503 say when to come again.
Reply error_reply(int status, const std::string& type, const std::string& message);
Reply error_reply(int status, Failure failure);

/// The reply for any failure. What is no Error or HttpError, and errors of the kind kIo, are logged and say nothing
/// about their reason: it may name files of this machine.
Reply error_reply(const std::exception& failure);

}  // namespace weft::server
