// SPDX-License-Identifier: Apache-2.0
// MKL chooses the code of each vector function at its first call. Where two threads make it at once, one of them can
// get code of lower accuracy for that call (github.com/pytorch/pytorch/issues/188792): probabilities of a picture
// differed by more than 1e-5 of their size. Here one thread calls each of them as the library is loaded, before any
// other can.
#include <ATen/ops/acos.h>
#include <ATen/ops/asin.h>
#include <ATen/ops/atan.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/erfc.h>
#include <ATen/ops/erfinv.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log10.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/tan.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/trunc.h>
#include <ATen/ops/zeros.h>

namespace weft::attention {
namespace {

// The functions that ATen/cpu/vml.h hands to MKL.
bool call_vector_functions() {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor zero = at::zeros({1}, type);
    for (const auto function :
         {&at::acos, &at::asin, &at::atan, &at::cos, &at::erf, &at::erfc, &at::erfinv, &at::exp, &at::log, &at::log10,
          &at::log2, &at::sin, &at::sqrt, &at::tan, &at::tanh, &at::trunc}) {
      function(zero);
    }
  }
  return true;
}

[[maybe_unused]] const bool kCalled = call_vector_functions();

}  // namespace
}  // namespace weft::attention
