// SPDX-License-Identifier: Apache-2.0
// Tensors to and from safetensors.
#include "weft/checkpoint/tensors.h"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "weft/attention/backends/host_memory.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::checkpoint {
namespace {

using formats::Dtype;

// What both sides have. The float8 kinds, unsigned integers above 8 bits and complex numbers are refused by name.
constexpr std::pair<Dtype, at::ScalarType> kDtypes[] = {
    {Dtype::BOOL, at::kBool},  {Dtype::U8, at::kByte},       {Dtype::I8, at::kChar}, {Dtype::I16, at::kShort},
    {Dtype::F16, at::kHalf},   {Dtype::BF16, at::kBFloat16}, {Dtype::I32, at::kInt}, {Dtype::F32, at::kFloat},
    {Dtype::F64, at::kDouble}, {Dtype::I64, at::kLong},
};

Dtype file_dtype(const std::string& name, const at::Tensor& tensor) {
  for (const auto& [file, torch] : kDtypes) {
    if (torch == tensor.scalar_type()) {
      return file;
    }
  }
  fail(ErrorKind::kArgument, "tensor ", quote(name), " has dtype ", tensor.scalar_type(),
       ", which Weft does not write");
}

at::ScalarType torch_dtype(const formats::TensorFile& file, const formats::TensorInfo& info) {
  for (const auto& [known, torch] : kDtypes) {
    if (known == info.dtype) {
      return torch;
    }
  }
  fail(ErrorKind::kUnsupported, file.path().string(), ": tensor ", quote(info.name), " has dtype ",
       formats::dtype_name(info.dtype), ", which Weft does not read");
}

}  // namespace

void save_tensors(const std::filesystem::path& path, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata) {
  std::vector<at::Tensor> owners;  // keep what `sources` point to
  std::vector<formats::TensorSource> sources;
  for (const auto& [name, tensor] : tensors) {
    require(tensor.defined(), "tensor ", Quoted(name), " has no values to write");
    // A tensor that is dense on the CPU already is not copied.
    owners.push_back(tensor.detach().cpu().contiguous());
    sources.push_back({name, file_dtype(name, tensor), tensor.sizes().vec(), owners.back().const_data_ptr()});
  }
  formats::write_safetensors(path, sources, metadata);
}

at::Tensor read_tensor(const formats::TensorFile& file, const formats::TensorInfo& info) {
  // Read straight into the tensor, by pread: nothing is held twice, and a file that shrinks is an error and no SIGBUS.
  const at::Tensor tensor = at::empty(info.shape, at::TensorOptions(torch_dtype(file, info)));
  if (tensor.numel() > 0) {
    file.read(info, tensor.mutable_data_ptr());
  }
  return tensor;
}

void read_into(const formats::TensorFile& file, const formats::TensorInfo& info, at::Tensor& destination) {
  const bool as_it_lies = attention::is_in_host_memory(destination) && destination.is_contiguous() &&
                          destination.scalar_type() == torch_dtype(file, info) && destination.numel() > 0;
  if (as_it_lies) {
    file.read(info, destination.mutable_data_ptr());
    // LibTorch did not see the write: forms that were made of the old values (packed weights) would be used on.
    if (!destination.is_inference()) {
      destination.unsafeGetTensorImpl()->bump_version();
    }
  } else {
    destination.copy_(read_tensor(file, info));
  }
}

void read_all(const formats::TensorFile& file, std::vector<TensorRead>& reads, bool check_finite) {
  std::vector<std::uint8_t> is_wrong(reads.size(), 0);
  std::atomic<std::size_t> next{0};
  // Sizes differ by a thousand times: whoever is free takes the next one.
  const at::ThreadLocalState modes;
  at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t, std::int64_t) {
    // A thread of the pool begins with modes of its own: it could not write to what was made in inference mode.
    const at::ThreadLocalStateGuard as_the_caller(modes);
    const at::NoGradGuard without_gradients;
    for (std::size_t at = next++; at < reads.size(); at = next++) {
      at::Tensor& destination = reads[at].destination;
      read_into(file, *reads[at].info, destination);
      is_wrong[at] = check_finite && !at::isfinite(destination).all().item<bool>() ? 1 : 0;
    }
  });
  const auto wrong = std::find(is_wrong.begin(), is_wrong.end(), 1);
  if (wrong != is_wrong.end()) {
    fail(ErrorKind::kNumeric, file.path().string(), ": tensor ",
         quote(reads[static_cast<std::size_t>(wrong - is_wrong.begin())].info->name), " holds NaN or infinity");
  }
}

NamedTensors load_tensors(const FilePlace& place) {
  const std::unique_ptr<formats::TensorFile> file = formats::open_tensor_file(place);
  NamedTensors tensors;
  for (const formats::TensorInfo& info : file->tensors()) {
    tensors.emplace_back(info.name, read_tensor(*file, info));
  }
  return tensors;
}

}  // namespace weft::checkpoint
