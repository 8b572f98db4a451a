// SPDX-License-Identifier: Apache-2.0
// The checks, in an order in which each may rely on those before it.
#include "weft/attention/operator/checks.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "weft/attention/distance_table.h"
#include "weft/attention/row_positions.h"
#include "weft/attention/tensors.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

using Tensors = std::initializer_list<at::Tensor>;

bool have_sizes(Tensors tensors) {
  return std::none_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  });
}

bool is_taken(at::ScalarType dtype) {
  return dtype == at::kDouble || dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf;
}

void check_kinds(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  require(query.defined() && key.defined() && value.defined(), "attention: query, key and value must be given");
  require(query.layout() == at::kStrided && key.layout() == at::kStrided && value.layout() == at::kStrided,
          "attention: query, key and value must be dense tensors, found layouts ", query.layout(), ", ", key.layout(),
          " and ", value.layout());
  require(query.scalar_type() == key.scalar_type() && key.scalar_type() == value.scalar_type(),
          "attention: query, key and value must have one dtype, found ", query.scalar_type(), ", ", key.scalar_type(),
          " and ", value.scalar_type());
  require(is_taken(query.scalar_type()),
          "attention: query must have a floating dtype (float32, float64, bfloat16 or float16), found ",
          query.scalar_type());
  require(query.device() == key.device() && key.device() == value.device(),
          "attention: query, key and value must be on one device, found ", query.device(), ", ", key.device(), " and ",
          value.device());
}

void check_sizes(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  require(query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
          "attention: query, key and value must be [batch, heads, length, head_dim], found ", query.sizes(), ", ",
          key.sizes(), " and ", value.sizes());
  require(key.size(0) == query.size(0) && value.size(0) == query.size(0), "attention: query ", query.sizes(), ", key ",
          key.sizes(), " and value ", value.sizes(), " differ in batch");
  require(key.size(3) == query.size(3), "attention: query ", query.sizes(), " and key ", key.sizes(),
          " differ in head_dim");
  require(query.size(3) > 0 && value.size(3) > 0, "attention: head_dim must be positive, found query ", query.sizes(),
          " and value ", value.sizes());
  require(key.size(1) == value.size(1) && key.size(2) == value.size(2), "attention: key ", key.sizes(), " and value ",
          value.sizes(), " differ in heads or length");
  require(key.size(1) > 0 && query.size(1) > 0 && query.size(1) % key.size(1) == 0, "attention: the heads of query ",
          query.sizes(), " must be a multiple of those of key ", key.sizes());
}

// A tensor of the backward pass: the shape, dtype and device that the forward pass gave it.
void check_result(const char* name, const at::Tensor& tensor, at::IntArrayRef sizes,
                  const at::TensorOptions& expected) {
  require(tensor.defined() && tensor.layout() == at::kStrided, "attention: ", name, " must be a dense tensor");
  require(tensor.scalar_type() == expected.dtype().toScalarType() && tensor.device() == expected.device(),
          "attention: ", name, " must be ", expected.dtype().toScalarType(), " on ", expected.device(), ", found ",
          tensor.scalar_type(), " on ", tensor.device());
  require(!have_sizes({tensor}) || tensor.sizes() == sizes, "attention: ", name, " must be ", sizes, ", found ",
          tensor.sizes());
}

void check_relative_term(const Call& call) {
  const at::Tensor& query = call.relative.query;
  const at::Tensor& rows = call.relative.rows;
  if (!query.defined() && !rows.defined()) {
    return;
  }
  require(query.defined() && rows.defined(), "attention: a relative term needs a query and rows");
  const auto lies_like_query = [&call](const at::Tensor& tensor) {
    return tensor.scalar_type() == call.query.scalar_type() && tensor.device() == call.query.device() &&
           tensor.layout() == at::kStrided;
  };
  require(lies_like_query(query) && lies_like_query(rows), "attention: query and rows of a relative term must be ",
          call.query.scalar_type(), " on ", call.query.device(), ", found ", query.scalar_type(), " on ",
          query.device(), " and ", rows.scalar_type(), " on ", rows.device());
  require(query.sizes() == call.query.sizes() && rows.dim() == 3 && rows.size(0) == call.query.size(1) &&
              rows.size(1) >= 1 && rows.size(2) == call.query.size(3),
          "attention: a relative term must have a query ", call.query.sizes(),
          " and rows [heads, distances, head_dim], found ", query.sizes(), " and ", rows.sizes());
}

}  // namespace

void check_tensors(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                   const at::Tensor& key_keep) {
  check_kinds(query, key, value);
  const bool sized = have_sizes({query, key, value});
  if (sized) {
    check_sizes(query, key, value);
  }
  if (!key_keep.defined()) {
    return;
  }
  require(key_keep.scalar_type() == at::kBool && key_keep.device() == key.device() && key_keep.layout() == at::kStrided,
          "attention: key_keep must be a dense bool tensor on ", key.device(), ", found ", key_keep.scalar_type(), " (",
          key_keep.layout(), ") on ", key_keep.device());
  if (sized && have_sizes({key_keep})) {
    require(key_keep.dim() == 2 && key_keep.size(0) == key.size(0) && key_keep.size(1) == key.size(2),
            "attention: key_keep must be [batch, key length] = [", key.size(0), ", ", key.size(2), "], found ",
            key_keep.sizes());
  }
}

void check_numbers(double scale, double dropout) {
  require(dropout >= 0 && static_cast<float>(dropout) < 1, "attention: dropout must be in [0, 1), found ", dropout);
  require(std::isfinite(scale), "attention: scale must be finite, found ", scale);
}

void check_call(Call& call) {
  check_tensors(call.query, call.key, call.value, call.key_keep);
  require(call.layout != nullptr, "attention: a layout must be given");
  call.layout->check(call.query.size(0), call.query.size(1), call.query.size(2), call.key.size(2));
  check_table(call.distances, call.query);
  check_positions(call);
  check_relative_term(call);
}

void check_results(const at::Tensor& query, const at::Tensor& value, const Forward& forward,
                   const at::Tensor& output_gradient) {
  if (!have_sizes({query, value})) {
    return;
  }
  const std::int64_t rows[] = {query.size(0), query.size(1), query.size(2), value.size(3)};
  const at::TensorOptions options = query.options();
  check_result("the output", forward.output, rows, options);
  check_result("the output gradient", output_gradient, rows, options);
  check_result("log_sum_exp", forward.log_sum_exp, at::IntArrayRef(rows, 3), options.dtype(accumulation_type(query)));
}

}  // namespace weft::attention
