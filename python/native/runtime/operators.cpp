// SPDX-License-Identifier: Apache-2.0
// weft::attend_general and weft::attend_general_backward for PyTorch, with the schemas of weft::attend. What they look
// like while a model is traced, and their gradients, are in weft_attention/_operators.py.
#include <torch/library.h>

#include <string_view>
#include <tuple>

#include "general_call.h"

namespace weft::python {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

// NOLINTBEGIN(readability-function-size): these two have the parameters of their schemas
std::tuple<at::Tensor, at::Tensor> general_operator(const at::Tensor& query, const at::Tensor& key,
                                                    const at::Tensor& value, const OptionalTensor& key_keep,
                                                    const OptionalTensor& seed, const OptionalTensor& distances,
                                                    std::string_view pattern, std::int64_t query_offset,
                                                    std::int64_t layer, std::int64_t distance_zero, double scale,
                                                    double dropout) {
  const attention::Forward forward =
      attend_general({query, key, value, key_keep, seed, distances},
                     {std::string(pattern), query_offset, layer, distance_zero, scale, dropout});
  return {forward.output, forward.log_sum_exp};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> general_backward_operator(
    const at::Tensor& output_gradient, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& output, const at::Tensor& log_sum_exp, const OptionalTensor& key_keep, const OptionalTensor& seed,
    const OptionalTensor& distances, std::string_view pattern, std::int64_t query_offset, std::int64_t layer,
    std::int64_t distance_zero, double scale, double dropout) {
  const attention::Gradients gradients =
      attend_general_backward(output_gradient, {query, key, value, key_keep, seed, distances}, {output, log_sum_exp},
                              {std::string(pattern), query_offset, layer, distance_zero, scale, dropout});
  return {gradients.query, gradients.key, gradients.value, gradients.distances};
}
// NOLINTEND(readability-function-size)

}  // namespace
}  // namespace weft::python

TORCH_LIBRARY_FRAGMENT(weft, library) {
  library.def(
      "attend_general(Tensor query, Tensor key, Tensor value, Tensor? key_keep, Tensor? seed, Tensor? distances, str "
      "pattern, SymInt query_offset, int layer, int distance_zero, float scale, float dropout) -> (Tensor, Tensor)");
  library.def(
      "attend_general_backward(Tensor output_gradient, Tensor query, Tensor key, Tensor value, Tensor output, Tensor "
      "log_sum_exp, Tensor? key_keep, Tensor? seed, Tensor? distances, str pattern, SymInt query_offset, int layer, "
      "int distance_zero, float scale, float dropout) -> (Tensor, Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(weft, CPU, library) {
  library.impl("attend_general", TORCH_FN(weft::python::general_operator));
  library.impl("attend_general_backward", TORCH_FN(weft::python::general_backward_operator));
}
