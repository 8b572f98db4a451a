// SPDX-License-Identifier: Apache-2.0
// weft::attend and weft::attend_backward for PyTorch, by its stable ABI: one file serves every version from 2.11 on.
// What they look like while a model is traced, and their gradients, are in weft_attention/_operators.py.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "call.h"
#include "kept_layouts.h"
#include "weft/core/error.h"

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

template <typename Number>
std::span<const Number> numbers(const Tensor& tensor, torch::headeronly::ScalarType type, const char* name) {
  require(tensor.is_cpu() && tensor.scalar_type() == type && tensor.is_contiguous(), "keep_layout: ", name,
          " has another dtype or place than the schema says, or is not contiguous");
  return {static_cast<const Number*>(tensor.const_data_ptr()), static_cast<std::size_t>(tensor.numel())};
}

void keep_layout_operator(Tensor row_begin, Tensor key_block, Tensor kind, Tensor mask_bits, std::string name,
                          std::int64_t query_length, std::int64_t key_length, std::int64_t most_bytes) {
  require(most_bytes >= 0, "keep_layout: most_bytes must not be negative, found ", most_bytes);
  using torch::headeronly::ScalarType;
  keep_layout(name,
              {numbers<std::int64_t>(row_begin, ScalarType::Long, "row_begin"),
               numbers<std::int32_t>(key_block, ScalarType::Int, "key_block"),
               numbers<std::int32_t>(kind, ScalarType::Int, "kind"),
               numbers<std::int64_t>(mask_bits, ScalarType::Long, "mask_bits"), query_length, key_length},
              static_cast<std::size_t>(most_bytes));
}

template <typename To, typename From>
Tensor copied(const std::vector<From>& numbers, torch::headeronly::ScalarType type) {
  static_assert(sizeof(To) == sizeof(From));
  const std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(numbers.size())};
  Tensor tensor = torch::stable::empty(sizes, type);
  std::copy(numbers.begin(), numbers.end(), static_cast<To*>(tensor.mutable_data_ptr()));
  return tensor;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> kept_layout_operator(std::string name) {
  using torch::headeronly::ScalarType;
  const attention::LayoutPtr layout = kept_layout(name);
  const pattern::BlockLayout& blocks = layout->blocks();
  const std::vector<std::int64_t> lengths = {blocks.query_length, blocks.key_length};
  return {copied<std::int64_t>(blocks.row_begin, ScalarType::Long),
          copied<std::int32_t>(blocks.key_block, ScalarType::Int), copied<std::int32_t>(blocks.kind, ScalarType::Int),
          copied<std::int64_t>(blocks.mask_bits, ScalarType::Long), copied<std::int64_t>(lengths, ScalarType::Long)};
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
  library.def(
      "keep_layout(Tensor row_begin, Tensor key_block, Tensor kind, Tensor mask_bits, str name, int query_length, int "
      "key_length, int most_bytes) -> ()");
  library.def("kept_layout(str name) -> (Tensor, Tensor, Tensor, Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(weft, CPU, library) {
  library.impl("attend", TORCH_BOX(&weft::python::attend_operator));
  library.impl("attend_backward", TORCH_BOX(&weft::python::attend_backward_operator));
  library.impl("keep_layout", TORCH_BOX(&weft::python::keep_layout_operator));
}

// No argument is a tensor, so that no device chooses.
STABLE_TORCH_LIBRARY_IMPL(weft, CompositeExplicitAutograd, library) {
  library.impl("kept_layout", TORCH_BOX(&weft::python::kept_layout_operator));
}
