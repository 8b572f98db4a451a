// SPDX-License-Identifier: Apache-2.0
// A fixture of tests/fixtures as LibTorch tensors: what another program computed, for our results to be compared with.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "weft/formats/safetensors.h"

namespace weft::test {

class Fixture {
 public:
  /// `name` below tests/fixtures, without ".safetensors".
  explicit Fixture(const std::string& name);

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  /// A copy of the tensor in the dtype of the file.
  at::Tensor tensor(const std::string& name) const;
  /// The same as float64.
  at::Tensor float64(const std::string& name) const;
  /// A whole number from the metadata.
  std::int64_t integer(const std::string& name) const;
  /// A string from the metadata.
  std::string text(const std::string& name) const;

 private:
  formats::SafetensorsFile file_;
};

/// The largest |a - b| where `rows` [B, N] is true, for a and b [B, N, M]; infinity when a NaN is among them.
double largest_difference(const at::Tensor& a, const at::Tensor& b, const at::Tensor& rows);
/// The same over all entries.
double largest_difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace weft::test
