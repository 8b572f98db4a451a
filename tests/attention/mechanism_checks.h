// SPDX-License-Identifier: Apache-2.0
// What holds for every mechanism, whatever it computes.
#pragma once

#include <limits>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "attention/small_calls.h"
#include "weft/attention/mechanism.h"

namespace weft::test {

/// Rows of what a layer packs its text into, the same ones for all texts, [B, H, latents, D]. bfloat16 holds them.
inline at::Tensor latent_rows(std::int64_t latents, const at::Tensor& like) {
  at::Generator generator = at::detail::createCPUGenerator(23);
  const at::Tensor rows = at::randn({1, like.size(1), latents, like.size(3)}, generator, at::kFloat);
  return rows.to(at::kBFloat16).to(like.scalar_type()).expand({like.size(0), -1, -1, -1});
}

/// The tensors as the module takes them: queries and keys are one where it has one projection of both, and latents
/// stand in front of keys and values where it has latents.
inline Tensors fitting(const attention::AttentionImpl& module, const Tensors& tensors) {
  const bool shared = module.spec().projections == attention::Projections::kSharedQueryKey;
  if (const std::int64_t latents = module.spec().latents; latents > 0) {
    const auto in_front = [&](const at::Tensor& rows) { return at::cat({latent_rows(latents, rows), rows}, 2); };
    return {tensors.query, in_front(tensors.key), in_front(tensors.value)};
  }
  return {shared ? tensors.key : tensors.query, tensors.key, tensors.value};
}

inline at::Tensor called(attention::AttentionImpl& module, const Tensors& tensors,
                         const attention::AttentionContext& context = {}) {
  const Tensors given = fitting(module, tensors);
  return module.forward(given.query, given.key, given.value, context);
}

/// A module of 2 heads of 8 columns: padded keys and values, and queries behind a row's length, are NaN, but no output
/// and no gradient shows it; a row without keys gives zeros, or what it sees in the latents.
inline void expect_padding_reaches_nothing(attention::AttentionImpl& module) {
  Tensors tensors = random_tensors({2, 2, 90, 8});
  attention::AttentionContext context;
  context.key_keep = at::rand({2, 90}) < 0.6;
  context.key_keep[1].fill_(false);
  context.rows = {{{}, 70, {}}, {}};
  const bool shared = module.spec().projections == attention::Projections::kSharedQueryKey;
  const bool has_latents = module.spec().latents > 0;
  const at::Tensor expected = called(module, tensors, context).detach();
  EXPECT_NE((expected[1] == 0).all().item<bool>(), has_latents) << "a row that sees no key";
  constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor padded = context.key_keep.logical_not().unsqueeze(1).unsqueeze(-1);
  for (at::Tensor* tensor : {&tensors.key, &tensors.value}) {
    *tensor = tensor->masked_fill(padded, kNoNumber).requires_grad_();
  }
  tensors.query = tensors.query.clone();
  tensors.query[0].narrow(1, 70, 20).fill_(kNoNumber);
  tensors.query.requires_grad_();
  const at::Tensor output = called(module, tensors, context);
  EXPECT_TRUE(at::equal(output, expected));
  output.sum().backward();
  std::vector<at::Tensor> followed = {tensors.key, tensors.value};
  if (!shared) {
    followed.push_back(tensors.query);
  }
  for (const at::Tensor& tensor : followed) {
    EXPECT_TRUE(at::isfinite(tensor.grad()).all().item<bool>());
    if (!has_latents || !tensor.is_same(tensors.query)) {
      EXPECT_TRUE((tensor.grad()[1] == 0).all().item<bool>());
    }
  }
}

}  // namespace weft::test
