// SPDX-License-Identifier: Apache-2.0
// Any bytes as a body in the shapes of other servers: one line says what is wrong, or what was read keeps its bounds
// and its answer is JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/requests/shapes/embeddings_shape.h"
#include "weft/requests/shapes/llama_shape.h"
#include "weft/requests/shapes/rerank_shapes.h"
#include "weft/requests/shapes/tei_shapes.h"
#include "weft/requests/shapes/vector_result.h"
#include "weft/server/http_error.h"

namespace {

using namespace weft;  // NOLINT(google-build-using-namespace): a program of its own

const requests::EmbedderFacts kFacts{.name = "tiny", .vocabulary = 100, .width = 4, .prompts = {"query"}};

void must(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void one_line_or(const std::function<void()>& read) {
  try {
    read();
  } catch (const std::exception& failure) {
    must(server::error_reply(failure).status == 400);
    must(std::string_view(failure.what()).find('\n') == std::string_view::npos);
  }
}

void check_inputs(const requests::EmbedInputs& inputs) {
  must(!inputs.texts.empty());
  for (const server::Text& text : inputs.texts) {
    for (const std::int64_t id : inputs.ids ? requests::ids_of_input(text.first) : std::vector<std::int64_t>()) {
      must(id >= 0 && id < kFacts.vocabulary);
    }
  }
}

std::vector<formats::Json> vectors(std::size_t count) {
  return std::vector<formats::Json>(count, requests::vector_result(std::vector<float>{1, 2, 3, 4}, {{"tokens", 1}}));
}

void read_all(const formats::Json& body) {
  one_line_or([&] {
    const requests::EmbeddingsRequest request = requests::read_embeddings_request(body, kFacts);
    check_inputs(request.inputs);
    must(request.dimensions.value_or(1) >= 1 && request.dimensions.value_or(1) <= kFacts.width);
    (void)formats::print_json(
        requests::embeddings_answer("tiny", vectors(request.inputs.texts.size()), request.base64));
  });
  one_line_or([&] { check_inputs(requests::read_embed_body(body, kFacts).inputs); });
  one_line_or([&] { check_inputs(requests::read_embed_all_body(body, kFacts).inputs); });
  one_line_or([&] { check_inputs(requests::read_content(body, kFacts)); });
  one_line_or([&] {
    const std::size_t texts = requests::read_similarity_body(body, kFacts).texts.size();
    must(requests::similarities(vectors(texts), "cosine").size() + 1 == texts);
  });
  one_line_or([&] { must(!requests::read_predict_body(body).texts.empty()); });
  one_line_or([&] {
    const requests::RerankBody request = requests::read_rerank_body(body);
    const std::vector<formats::Json> scores(request.pairs.size(), requests::counted_result(0.5, {}));
    (void)formats::print_json(requests::rerank_answer(request, "tiny", scores));
  });
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const server::Request request{
      .method = "POST", .path = "/v1/embeddings", .body = std::string(reinterpret_cast<const char*>(data), size)};
  one_line_or([&] { read_all(server::json_object(request)); });
  return 0;
}
