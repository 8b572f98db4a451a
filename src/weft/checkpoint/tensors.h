// SPDX-License-Identifier: Apache-2.0
// LibTorch tensors to and from safetensors files; LibTorch's own pickle is never touched.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "weft/formats/safetensors.h"
#include "weft/formats/tensor_file.h"
#include "weft/models/weight_map.h"

namespace weft::checkpoint {

using models::NamedTensors;

/// Writes tensors of any device and stride, contiguous and on the CPU, atomically. Errors: kIo; kArgument for a dtype
/// that the format does not have or a name given twice.
void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata = {});

/// All tensors of a file in the file's order, as copies that own their memory; the suffix tells the format, see
/// formats::open_tensor_file. Errors: kIo, kFormat.
NamedTensors load_tensors(const FilePlace& place);

/// One tensor of an open file, as a copy that owns its memory.
at::Tensor read_tensor(const formats::TensorFile& file, const formats::TensorInfo& info);

/// One tensor of an open file into `destination` of the same shape, converted to its dtype and moved to its device.
void read_into(const formats::TensorFile& file, const formats::TensorInfo& info, at::Tensor& destination);

/// One tensor of a file and where it goes.
struct TensorRead {
  const formats::TensorInfo* info;
  at::Tensor destination;
};

/// read_into() for all of them, in no order, on LibTorch's threads. With `check_finite`, NaN or infinity is a kNumeric
/// error that names the first tensor that holds any.
void read_all(const formats::TensorFile& file, std::vector<TensorRead>& reads, bool check_finite);

}  // namespace weft::checkpoint
