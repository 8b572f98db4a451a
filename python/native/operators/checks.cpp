// SPDX-License-Identifier: Apache-2.0
// The checks, in an order in which each may rely on those before it.
#include "checks.h"

#include <cmath>
#include <initializer_list>

#include "weft/core/error.h"

namespace weft::python {
namespace {

using torch::headeronly::ScalarType;

constexpr std::int64_t kDimensions = 4;

const char* name_of(ScalarType type) { return torch::headeronly::toString(type); }

void check_kinds(const Inputs& inputs) {
  const ScalarType type = inputs.query.scalar_type();
  require(inputs.key.scalar_type() == type && inputs.value.scalar_type() == type,
          "attend: query, key and value must have one dtype, found ", name_of(type), ", ",
          name_of(inputs.key.scalar_type()), " and ", name_of(inputs.value.scalar_type()));
  if (type != ScalarType::Float && type != ScalarType::BFloat16 && type != ScalarType::Half) {
    throw Error(ErrorKind::kUnsupported,
                concat("attend: query must be float32, bfloat16 or float16, found ", name_of(type)),
                "convert it; float64 is in the package weft-attention-runtime");
  }
}

void check_shapes(const Inputs& inputs) {
  const Tensor& query = inputs.query;
  const Tensor& key = inputs.key;
  const Tensor& value = inputs.value;
  const auto shapes = [&] {
    return concat("query ", shape_of(query), ", key ", shape_of(key), " and value ", shape_of(value));
  };
  require(query.dim() == kDimensions && key.dim() == kDimensions && value.dim() == kDimensions,
          "attend: query, key and value must be [batch, heads, length, head_dim], found ", shapes);
  require(key.size(0) == query.size(0) && value.size(0) == query.size(0), "attend: ", shapes, " differ in batch");
  require(key.size(3) == query.size(3), "attend: ", shapes, ": query and key differ in head_dim");
  require(key.size(1) == value.size(1) && key.size(2) == value.size(2), "attend: ", shapes,
          ": key and value differ in heads or length");
  require(query.size(1) > 0 && key.size(1) > 0 && query.size(1) % key.size(1) == 0, "attend: ", shapes,
          ": the heads of query must be a multiple of those of key");
  const std::int64_t most = kernels::kMaximumHeadDim;
  require(query.size(3) > 0 && query.size(3) <= most && value.size(3) > 0 && value.size(3) <= most, "attend: ", shapes,
          ": head_dim must be between 1 and ", most);
}

void check_keep(const Tensor& keep, const Tensor& key) {
  require(keep.scalar_type() == ScalarType::Bool && keep.is_cpu() && keep.dim() == 2 && keep.size(0) == key.size(0) &&
              keep.size(1) == key.size(2),
          "attend: key_keep must be bool [batch, key length] = [", key.size(0), ", ", key.size(2), "], found ",
          name_of(keep.scalar_type()), " ", [&] { return shape_of(keep); });
}

void check_distances(const Tensor& table, const Tensor& query) {
  const bool has_shape = table.dim() == 3 && table.size(0) == query.size(1) && table.size(1) >= 1 &&
                         table.size(1) <= 2 && table.size(2) > 0;
  require(has_shape && table.scalar_type() == ScalarType::Float && table.is_cpu(),
          "attend: distances must be float32 [heads, 1 or 2, span] with ", query.size(1), " heads, found ",
          name_of(table.scalar_type()), " ", [&] { return shape_of(table); });
}

void check_settings(const std::optional<Tensor>& seed, const Settings& settings) {
  require(settings.dropout >= 0 && static_cast<float>(settings.dropout) < 1,
          "attend: dropout must be in [0, 1), found ", settings.dropout);
  if (settings.dropout > 0) {
    require(seed && seed->scalar_type() == ScalarType::Long && seed->is_cpu() && seed->numel() == 1,
            "attend: dropout needs a seed, an int64 tensor of one element");
  }
  require(std::isfinite(settings.scale), "attend: scale must be finite, found ", settings.scale);
}

void check_result(const char* name, const Tensor& tensor, ScalarType type, std::initializer_list<std::int64_t> sizes) {
  bool fits =
      tensor.is_cpu() && tensor.scalar_type() == type && tensor.dim() == static_cast<std::int64_t>(sizes.size());
  std::int64_t dimension = 0;
  for (const std::int64_t size : sizes) {
    fits = fits && tensor.size(dimension++) == size;
  }
  require(fits, "attend_backward: ", name, " does not belong to these inputs: found ", name_of(tensor.scalar_type()),
          " ", [&] { return shape_of(tensor); });
}

}  // namespace

std::string shape_of(const Tensor& tensor) {
  std::string text = "[";
  for (std::int64_t dimension = 0; dimension < tensor.dim(); ++dimension) {
    text += concat(dimension == 0 ? "" : ", ", tensor.size(dimension));
  }
  return text + "]";
}

void check(const Inputs& inputs, const Settings& settings) {
  check_kinds(inputs);
  check_shapes(inputs);
  if (inputs.key_keep) {
    check_keep(*inputs.key_keep, inputs.key);
  }
  if (inputs.distances) {
    check_distances(*inputs.distances, inputs.query);
  }
  check_settings(inputs.seed, settings);
}

void check_results(const Inputs& inputs, const Forward& forward, const Tensor& output_gradient) {
  const Tensor& query = inputs.query;
  const ScalarType type = query.scalar_type();
  const auto rows = {query.size(0), query.size(1), query.size(2), inputs.value.size(3)};
  check_result("output", forward.output, type, rows);
  check_result("the gradient of output", output_gradient, type, rows);
  check_result("log_sum_exp", forward.log_sum_exp, ScalarType::Float, {query.size(0), query.size(1), query.size(2)});
}

kernels::DType kernel_dtype(const Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case ScalarType::BFloat16:
      return kernels::DType::kBFloat16;
    case ScalarType::Half:
      return kernels::DType::kFloat16;
    default:
      return kernels::DType::kFloat32;
  }
}

}  // namespace weft::python
