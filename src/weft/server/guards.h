// SPDX-License-Identifier: Apache-2.0
// What a request's head must fulfil before a byte of its body is read: nothing that two servers could read in two ways,
// no name of a foreign host (DNS rebinding), no foreign page (cross-site requests), and a key where keys are asked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/sha256.h"
#include "weft/server/limits.h"

namespace weft::server {

/// The fields of a head that are looked at, each with all its values.
struct Head {
  int version = 11;  ///< 10 times the major number, and the minor one
  std::string_view target;
  std::vector<std::string_view> hosts;
  std::vector<std::string_view> origins;
  std::vector<std::string_view> lengths;
  std::vector<std::string_view> transfers;
  std::vector<std::string_view> encodings;
  std::vector<std::string_view> keys;
  std::vector<std::string_view> accepts;
  std::vector<std::string_view> expects;
  std::vector<std::string_view> asked_methods = {};  ///< of a preflight (cross_origin.h): Access-Control-Request-Method
  std::vector<std::string_view> asked_fields = {};   ///< and Access-Control-Request-Headers
};

/// Throws HttpError 400, 415, 417, 501 or 505 for a message whose end or content is not plain.
void check_framing(const Head& head);

/// Throws HttpError 400 or 403 unless Host is an address in digits, localhost or one of `config`, and Origin, if there
/// is one, the same server or one of `config`.
void check_sender(const Head& head, const ServerConfig& config);

/// Whether --allowed-origins names this origin.
bool is_allowed_origin(std::string_view origin, const ServerConfig& config);

/// Whether a client says that it takes server-sent events. A list that has only */* does not say so.
bool takes_events(const Head& head);

/// The path of a target, without its query and a last slash. Errors: HttpError 400 for a target that is no path.
std::string path_of(std::string_view target);

/// Keys of a file, kept as digests, so that the time of a comparison says nothing about them.
class ApiKeys {
 public:
  /// Without keys nothing is asked for.
  ApiKeys() = default;
  /// One key a line; blank lines and those that begin with # are left out, as is a byte order mark. Errors: as
  /// readers::ByteSource; kFormat for a file without keys.
  explicit ApiKeys(const std::string& path);
  /// Throws HttpError 401 unless the head has one Authorization: Bearer with one of the keys.
  void check(const Head& head) const;
  /// The same of a key that stands elsewhere.
  void check_key(std::string_view key) const;

 private:
  std::vector<formats::Digest> digests_;
};

}  // namespace weft::server
