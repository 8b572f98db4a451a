// SPDX-License-Identifier: Apache-2.0
// A request as handlers see it, and what they give back: a reply at once, or work for the models.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/formats/config_json.h"

namespace weft::server {

struct Request {
  std::string method;
  std::string path;  ///< without the query; a slash at its end is left out
  std::string body;
  bool takes_events = false;  ///< Accept has text/event-stream
  bool key_in_body = false;   ///< no header has a key: the body must have one where keys are asked for
};

/// A failure as every API says it in a shape of its own (forms/error_shape.h).
struct Failure {
  std::string type;        ///< a word that a program may look at: "validation"
  std::string message;     ///< one line for people
  std::string param = {};  ///< the member of the request that is wrong; empty where nobody knows
  std::string code = {};   ///< a word of the API that the route belongs to; empty: `type`
};

/// Names and values of fields of a head.
using Fields = std::vector<std::pair<std::string, std::string>>;

struct Reply {
  int status = 200;
  std::string body = {};
  std::string type = "application/json";
  std::string allow = {};               ///< methods, with status 405
  Fields headers = {};                  ///< beside those of every reply
  std::optional<Failure> failure = {};  ///< of an error: `body` says it, in the shape of its route
};

/// A text for a model, or two that it sees together.
struct Text {
  std::string first;
  std::optional<std::string> second = {};
  std::int64_t place = 0;  ///< among the texts of its request, whatever they are computed with
};

/// The client that waits for an answer, as work that goes on piece by piece sees it. Safe from several threads.
struct Listener {
  /// Sends a piece of the answer where the client asked for pieces. False: nobody waits any more, and the work may end.
  std::function<bool(const formats::Json& piece)> send;
  /// Whether the client still waits.
  std::function<bool()> waits;
};

/// What a request costs, known before it is computed: from what it says and from its model.
struct Cost {
  std::int64_t tokens = 0;        ///< that the model reads and writes, about; where nobody knows, bytes of text
  std::int64_t answer_bytes = 0;  ///< of the answer, about and rather too many

  /// In the unit of queues: a token takes about as long as so many bytes of an answer.
  std::int64_t work() const noexcept {
    constexpr std::int64_t kBytesOfToken = 64;
    return tokens + answer_bytes / kBytesOfToken;
  }
};

/// What a model has to compute for one request. Work of several requests with one `group` is computed by one call of
/// `compute`, which gives a result for each text; a text's result must not depend on the others.
struct Work {
  std::string group;
  std::vector<Text> texts;
  std::function<std::vector<formats::Json>(std::span<const Text>)> compute = {};
  std::function<formats::Json(std::vector<formats::Json>)> finish = {};  ///< the body, from the results of `texts`
  std::function<Fields(std::span<const formats::Json>)> headers = {};    ///< of the answer, from the same results
  /// In place of both: makes the body piece by piece, for this request alone, and looks at the listener between pieces.
  std::function<formats::Json(const Listener& listener)> run = {};
  Cost cost = {};        ///< with at least as many tokens as `texts` have bytes
  bool streams = false;  ///< the client gets the pieces as events, and then the body as the last one
  bool light = false;    ///< needs no model: computed on a thread of its own, beside theirs
};

using Answer = std::variant<Reply, Work>;
using Handler = std::function<Answer(const Request& request)>;

/// `json` as a reply with status 200.
Reply json_reply(const formats::Json& json);

/// The member "api_key" of a body; "" where there is none, or no JSON object.
std::string key_of(const Request& request);

/// The body as a JSON object, with 1.0 as the integer 1, which it is for JSON Schema. Errors: kFormat for what is no
/// JSON, is nested too deep, has lone surrogates, names a member twice, or is no object.
formats::Json json_object(const Request& request);

}  // namespace weft::server
