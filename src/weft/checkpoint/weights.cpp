// SPDX-License-Identifier: Apache-2.0
// Checking and copying weights.
#include "weft/checkpoint/weights.h"

#include <set>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::checkpoint {
namespace {

std::string shape_text(at::IntArrayRef shape) { return concat(shape); }

/// What is wrong with one tensor of the file, or nothing.
std::string complaint(const formats::TensorInfo& info, const at::Tensor& parameter) {
  if (parameter.sizes() != at::IntArrayRef(info.shape)) {
    return concat("tensor ", quote(info.name), " has shape ", shape_text(info.shape), ", but config.json says ",
                  shape_text(parameter.sizes()));
  }
  using formats::Dtype;
  const bool readable = info.dtype == Dtype::F32 || info.dtype == Dtype::F16 || info.dtype == Dtype::BF16;
  return readable ? std::string()
                  : concat("tensor ", quote(info.name), " is ", formats::dtype_name(info.dtype),
                           ", but weights are F32, F16 or BF16");
}

std::vector<std::string> complaints(const torch::nn::Module& model, const formats::TensorFile& file) {
  std::vector<std::string> found;
  std::set<std::string> known;
  for (const auto& parameter : model.named_parameters()) {
    known.insert(parameter.key());
    const formats::TensorInfo* info = file.find(parameter.key());
    const std::string wrong = info == nullptr ? concat("tensor ", quote(parameter.key()), " of shape ",
                                                       shape_text(parameter.value().sizes()), " is missing")
                                              : complaint(*info, parameter.value());
    if (!wrong.empty()) {
      found.push_back(wrong);
    }
  }
  for (const formats::TensorInfo& info : file.tensors()) {
    if (!known.contains(info.name)) {
      found.push_back(concat("tensor ", quote(info.name), " of shape ", shape_text(info.shape),
                             " is not part of the model in config.json"));
    }
  }
  return found;
}

}  // namespace

void check_weights(const torch::nn::Module& model, const formats::TensorFile& file) {
  const std::vector<std::string> found = complaints(model, file);
  if (!found.empty()) {
    // The first complaint stands for all: a wrong config makes most tensors wrong.
    const std::string more = found.size() > 1 ? concat(" (and ", found.size() - 1, " more)") : std::string();
    fail(ErrorKind::kFormat, file.path().string(), ": ", found.front(), more);
  }
}

void copy_weights(torch::nn::Module& model, const formats::TensorFile& file, bool check_finite) {
  std::vector<TensorRead> reads;
  for (auto& parameter : model.named_parameters()) {
    reads.push_back({file.find(parameter.key()), parameter.value()});
  }
  // Widens F16 and BF16, and moves to the parameter's device.
  read_all(file, reads, check_finite);
}

}  // namespace weft::checkpoint
