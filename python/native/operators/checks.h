// SPDX-License-Identifier: Apache-2.0
// What a caller may give weft::attend, checked before anything is computed.
#pragma once

#include <string>

#include "call.h"

namespace weft::python {

/// "[2, 4, 100, 64]"
std::string shape_of(const Tensor& tensor);

/// Errors: kArgument, kUnsupported; each names what was found.
void check(const Inputs& inputs, const Settings& settings);

/// The tensors that the backward pass is given beside the inputs. Errors: kArgument.
void check_results(const Inputs& inputs, const Forward& forward, const Tensor& output_gradient);

kernels::DType kernel_dtype(const Tensor& tensor);

}  // namespace weft::python
