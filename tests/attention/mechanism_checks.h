// SPDX-License-Identifier: Apache-2.0
// What holds for every mechanism, whatever it computes.
#pragma once

#include <limits>

#include <gtest/gtest.h>

#include "attention/small_calls.h"
#include "weft/attention/mechanism.h"

namespace weft::test {

/// The tensors as the module takes them: queries and keys are one where it has one projection of both.
inline Tensors fitting(const attention::AttentionImpl& module, const Tensors& tensors) {
  const bool shared = module.spec().projections == attention::Projections::kSharedQueryKey;
  return {shared ? tensors.key : tensors.query, tensors.key, tensors.value};
}

/// A module of 2 heads of 8 columns: padded keys and values, and queries behind a row's length, are NaN, but no output
/// and no gradient shows it; a row without keys gives zeros.
inline void expect_padding_reaches_nothing(attention::AttentionImpl& module) {
  Tensors tensors = random_tensors({2, 2, 90, 8});
  attention::AttentionContext context;
  context.key_keep = at::rand({2, 90}) < 0.6;
  context.key_keep[1].fill_(false);
  context.rows = {{{}, 70, {}}, {}};
  tensors = fitting(module, tensors);
  const bool shared = tensors.query.is_same(tensors.key);
  const at::Tensor expected = module.forward(tensors.query, tensors.key, tensors.value, context).detach();
  EXPECT_TRUE((expected[1] == 0).all().item<bool>()) << "a row that sees no key";
  constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor padded = context.key_keep.logical_not().unsqueeze(1).unsqueeze(-1);
  for (at::Tensor* tensor : {&tensors.key, &tensors.value}) {
    *tensor = tensor->masked_fill(padded, kNoNumber).requires_grad_();
  }
  if (shared) {
    tensors.query = tensors.key;
  } else {
    tensors.query = tensors.query.clone();
    tensors.query[0].narrow(1, 70, 20).fill_(kNoNumber);
    tensors.query.requires_grad_();
  }
  const at::Tensor output = module.forward(tensors.query, tensors.key, tensors.value, context);
  EXPECT_TRUE(at::equal(output, expected));
  output.sum().backward();
  for (const at::Tensor& tensor : {tensors.query, tensors.key, tensors.value}) {
    EXPECT_TRUE(at::isfinite(tensor.grad()).all().item<bool>());
    EXPECT_TRUE((tensor.grad()[1] == 0).all().item<bool>());
  }
}

}  // namespace weft::test
