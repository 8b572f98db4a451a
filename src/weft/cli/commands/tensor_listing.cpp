// SPDX-License-Identifier: Apache-2.0
// Headers alone say names, dtypes and shapes; values are read one tensor at a time.
#include "weft/cli/commands/tensor_listing.h"

#include <cstdint>
#include <vector>

#include <ATen/ops/isfinite.h>

#include "weft/checkpoint/tensors.h"
#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/work/watched_progress.h"

namespace weft::cli {
namespace {

using formats::Json;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "scalar" : joined(shape, " x ", [](std::int64_t size) { return std::to_string(size); });
}

}  // namespace

Json tensors_json(const formats::TensorFile& file) {
  Json tensors = Json::array();
  for (const formats::TensorInfo& tensor : file.tensors()) {
    tensors.push_back({{"name", tensor.name}, {"dtype", formats::dtype_name(tensor.dtype)}, {"shape", tensor.shape}});
  }
  return tensors;
}

std::string tensors_text(const formats::TensorFile& file) {
  Rows rows;
  for (const formats::TensorInfo& tensor : file.tensors()) {
    rows.emplace_back(tensor.name, concat(formats::dtype_name(tensor.dtype), "  ", shape_text(tensor.shape)));
  }
  return "tensors\n" + name_table(rows, "  ");
}

Json not_finite_json(const formats::TensorFile& file) {
  const BusyBar bar("reading weights");
  Json found = Json::array();
  for (const formats::TensorInfo& info : file.tensors()) {
    const at::Tensor tensor = checkpoint::read_tensor(file, info);
    const std::int64_t finite = at::isfinite(tensor).sum().item<std::int64_t>();
    if (finite < tensor.numel()) {
      found.push_back({{"name", info.name}, {"not_finite", tensor.numel() - finite}});
    }
  }
  return found;
}

std::string not_finite_text(const Json& found) {
  if (found.empty()) {
    return "every weight is finite\n";
  }
  Rows rows;
  for (const Json& tensor : found) {
    rows.emplace_back(tensor.at("name").get<std::string>(), digits(tensor.at("not_finite").get<std::int64_t>()));
  }
  return "NaN or infinite\n" + name_table(rows, "  ");
}

}  // namespace weft::cli
