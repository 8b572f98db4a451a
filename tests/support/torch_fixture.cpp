// SPDX-License-Identifier: Apache-2.0
// Reads fixtures through formats/: this room order is what tests below checkpoint/ can use.
#include "support/torch_fixture.h"

#include <limits>

#include <torch/types.h>

#include "weft/core/error.h"

namespace weft::test {
namespace {

at::ScalarType scalar_type(formats::Dtype dtype) {
  switch (dtype) {
    case formats::Dtype::BOOL:
      return at::kBool;
    case formats::Dtype::F32:
      return at::kFloat;
    case formats::Dtype::F64:
      return at::kDouble;
    case formats::Dtype::I64:
      return at::kLong;
    default:
      fail(ErrorKind::kFormat, "fixtures have no ", formats::dtype_name(dtype));
  }
}

}  // namespace

Fixture::Fixture(const std::string& name)
    : file_(std::filesystem::path(WEFT_TEST_DATA_DIR) / (name + ".safetensors")) {}

at::Tensor Fixture::tensor(const std::string& name) const {
  const formats::TensorInfo* info = file_.find(name);
  require(info != nullptr, file_.path().string(), " has no tensor ", name);
  at::Tensor result = at::empty(info->shape, scalar_type(info->dtype));
  file_.read(*info, result.data_ptr());
  return result;
}

at::Tensor Fixture::float64(const std::string& name) const { return tensor(name).to(at::kDouble); }

std::int64_t Fixture::integer(const std::string& name) const { return std::stoll(text(name)); }

std::string Fixture::text(const std::string& name) const { return file_.metadata().at(name); }

double largest_difference(const at::Tensor& a, const at::Tensor& b, const at::Tensor& rows) {
  return largest_difference(a.index({rows}), b.index({rows}));
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor difference = (a.to(at::kDouble) - b.to(at::kDouble)).abs();
  const double largest = difference.numel() == 0 ? 0.0 : difference.max().item<double>();
  return largest >= 0.0 ? largest : std::numeric_limits<double>::infinity();
}

}  // namespace weft::test
