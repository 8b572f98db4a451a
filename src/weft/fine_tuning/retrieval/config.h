// SPDX-License-Identifier: Apache-2.0
// What --task embed and --task rerank learn by: the loss and what belongs to it, prompts, mini-batches. The field list
// is flags of `weft train` and lines of a run's training.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"

namespace weft::fine_tuning {

/// Whether `task` is embed or rerank.
bool is_retrieval_task(std::string_view task);

struct RetrievalConfig {
  std::string loss = "auto";
  double similarity_scale = 20.0;
  bool symmetric = false;
  std::vector<std::int64_t> matryoshka_dims;
  std::vector<std::string> matryoshka_weights;
  std::string query_prompt;
  std::string document_prompt;
  std::int64_t mini_batch_tokens = 8192;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = RetrievalConfig;
    visit(
        Field{"loss", &C::loss,
              "embed: in-batch (every other text of the batch is a negative), or of pairs with scores cosine (squared "
              "error) or cosent (their order); rerank: binary (a label a pair) or softmax (over the texts of a query). "
              "auto: of data with scores cosine or binary, else in-batch or softmax"}
            .one_of({"auto", "in-batch", "cosine", "cosent", "binary", "softmax"}));
    visit(Field{"similarity_scale", &C::similarity_scale,
                "what cosines are multiplied with in the losses in-batch and cosent (embed)"}
              .range(1e-6, 1e6));
    visit(Field{"symmetric", &C::symmetric, "in-batch: half of the loss looks for the query of each text (embed)"});
    visit(Field{"matryoshka_dims", &C::matryoshka_dims,
                "numbers of a vector at which it is to be good when it is cut: the loss is a sum over them (embed)"});
    visit(Field{"matryoshka_weights", &C::matryoshka_weights,
                "weights of the losses at matryoshka_dims; 1 each without them (embed)"});
    visit(Field{"query_prompt", &C::query_prompt,
                "put before the first text of a record, and kept as the prompt query; without it that of the model's "
                "directory (embed)"});
    visit(Field{"document_prompt", &C::document_prompt,
                "put before its other texts, and kept as the prompt document; without it that of the model's directory "
                "(embed)"});
    visit(Field{"mini_batch_tokens", &C::mini_batch_tokens,
                "tokens, padding included, that the model is given at once: a larger batch runs in parts, each once "
                "more in the backward pass, so that memory does not follow the batch (embed, rerank)"}
              .range(1, 1 << 30));
  }
};

/// Errors: kArgument naming `where`, the field and the rule for what does not go together, or not with `task`.
void check_config(const RetrievalConfig& config, std::string_view task, std::string_view where);
inline RetrievalConfig resolved(RetrievalConfig config) { return config; }

/// The words of matryoshka_weights as numbers, one for each of matryoshka_dims. Errors: kArgument for what is no number
/// above 0.
std::vector<double> weights_of(const RetrievalConfig& config);

}  // namespace weft::fine_tuning
