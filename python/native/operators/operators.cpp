// SPDX-License-Identifier: Apache-2.0
// weft::attend and weft::attend_backward for PyTorch, by its stable ABI: one file serves every version from 2.11 on.
// What they look like while a model is traced, and their gradients, are in weft_attention/_operators.py.
#include <torch/csrc/stable/library.h>

#include <tuple>

#include "call.h"

namespace weft::python {
namespace {

// The order of the schemas below.
std::tuple<Tensor, Tensor> attend_operator(Tensor query, Tensor key, Tensor value, std::optional<Tensor> key_keep,
                                           std::optional<Tensor> seed, std::optional<Tensor> distances,
                                           std::string pattern, std::int64_t query_offset, std::int64_t layer,
                                           std::int64_t distance_zero, double scale, double dropout) {
  const Forward forward = attend({query, key, value, key_keep, seed, distances},
                                 {pattern, query_offset, layer, distance_zero, scale, dropout});
  return {forward.output, forward.log_sum_exp};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attend_backward_operator(
    Tensor output_gradient, Tensor query, Tensor key, Tensor value, Tensor output, Tensor log_sum_exp,
    std::optional<Tensor> key_keep, std::optional<Tensor> seed, std::optional<Tensor> distances, std::string pattern,
    std::int64_t query_offset, std::int64_t layer, std::int64_t distance_zero, double scale, double dropout) {
  const Gradients gradients =
      attend_backward(output_gradient, {query, key, value, key_keep, seed, distances}, {output, log_sum_exp},
                      {pattern, query_offset, layer, distance_zero, scale, dropout});
  return {gradients.query, gradients.key, gradients.value, gradients.distances};
}

}  // namespace
}  // namespace weft::python

STABLE_TORCH_LIBRARY_FRAGMENT(weft, library) {
  library.def(
      "attend(Tensor query, Tensor key, Tensor value, Tensor? key_keep, Tensor? seed, Tensor? distances, str pattern, "
      "SymInt query_offset, int layer, int distance_zero, float scale, float dropout) -> (Tensor, Tensor)");
  library.def(
      "attend_backward(Tensor output_gradient, Tensor query, Tensor key, Tensor value, Tensor output, Tensor "
      "log_sum_exp, Tensor? key_keep, Tensor? seed, Tensor? distances, str pattern, SymInt query_offset, int layer, "
      "int "
      "distance_zero, float scale, float dropout) -> (Tensor, Tensor, Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(weft, CPU, library) {
  library.impl("attend", TORCH_BOX(&weft::python::attend_operator));
  library.impl("attend_backward", TORCH_BOX(&weft::python::attend_backward_operator));
}
