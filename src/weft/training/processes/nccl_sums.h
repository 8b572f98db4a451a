// SPDX-License-Identifier: Apache-2.0
// Sums of tensors that lie on GPUs, by NCCL: the library that LibTorch's CUDA half brings, called by its C interface,
// so that nothing is linked to it.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

namespace weft::training {

class ProcessGroup;

/// One communicator of all processes of a group, each with a GPU of its own.
class NcclSums {
 public:
  /// All processes of `group` call it, which hands on the identity of the communicator. Errors: kUnsupported where
  /// NCCL is not there; kIo where it does not begin, with its reason.
  NcclSums(ProcessGroup& group, c10::Device device);
  ~NcclSums();
  NcclSums(const NcclSums&) = delete;
  NcclSums& operator=(const NcclSums&) = delete;

  /// Replaces `tensor`, float32, float64, bfloat16 or float16 and contiguous on the device, by its sum over all
  /// processes, in the order of LibTorch's present stream. Errors: kUnsupported for another type; kIo.
  void sum(const at::Tensor& tensor);

 private:
  class Library;
  std::unique_ptr<Library> library_;
  void* communicator_ = nullptr;
};

}  // namespace weft::training
