// SPDX-License-Identifier: Apache-2.0
// Losses of vectors and scores, as sentence-transformers has them: MultipleNegativesRankingLoss and its symmetric form,
// CosineSimilarityLoss, CoSENTLoss, MatryoshkaLoss, BinaryCrossEntropyLoss; and softmax over the texts of a query.
// Tensors are float32 or float64, results scalars with their graph; autocast does not lower them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::fine_tuning {

/// How vectors of a batch are compared.
struct InBatchLoss {
  double scale = 20.0;
  bool symmetric = false;
  at::Tensor no_negatives = {};  ///< bool [pairs, texts]: texts that are no negatives of a pair; undefined: none
};

/// Mean over pairs of -log softmax(scale cos(query, text))[own text]. `queries` [pairs, width]; `texts` [texts, width],
/// the first `pairs` of which belong to the queries in order, and all others are negatives of every query. Symmetric:
/// the mean of it and of the same over queries for each of these first texts.
at::Tensor in_batch_loss(const at::Tensor& queries, const at::Tensor& texts, const InBatchLoss& options);

/// Mean squared difference of cos(first, second) [pairs] and `scores`. Vectors [pairs, width].
at::Tensor cosine_loss(const at::Tensor& first, const at::Tensor& second, const at::Tensor& scores);

/// log(1 + sum over pairs i and j with score i below score j of exp(scale (cos i - cos j))).
at::Tensor cosent_loss(const at::Tensor& first, const at::Tensor& second, const at::Tensor& scores, double scale);

/// The weighted sum of `loss` of `rows` [rows, width] cut to each of `dims`. The cut vectors have length 1. Errors:
/// kArgument for dimensions beyond the width.
at::Tensor matryoshka_loss(const at::Tensor& rows, std::span<const std::int64_t> dims, std::span<const double> weights,
                           const std::function<at::Tensor(const at::Tensor&)>& loss);

/// Mean over pairs of binary cross entropy of sigmoid(logit) with labels from 0 to 1. Both [pairs].
at::Tensor binary_loss(const at::Tensor& logits, const at::Tensor& labels);

/// Mean over lists of the cross entropy of softmax(logits of the list) with its labels over their sum. `sizes` of the
/// lists that stand one behind the other; each has a label above 0.
at::Tensor list_loss(const at::Tensor& logits, const at::Tensor& labels, std::span<const std::int64_t> sizes);

}  // namespace weft::fine_tuning
