// SPDX-License-Identifier: Apache-2.0
// Functions and numbers are those of nccl.h, which NVIDIA keeps from version 2.10 on.
#include "weft/training/processes/nccl_sums.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "weft/core/error.h"
#include "weft/training/processes/process_group.h"

namespace weft::training {
namespace {

constexpr int kSuccess = 0;
constexpr int kSum = 0;

struct UniqueId {
  std::array<char, 128> bytes;
};

int type_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return 6;
    case at::kFloat:
      return 7;
    case at::kDouble:
      return 8;
    case at::kBFloat16:
      return 9;
    default:
      fail(ErrorKind::kUnsupported, "NCCL sums float numbers here, found ", dtype);
  }
}

}  // namespace

/// libnccl.so.2, which is open once LibTorch's CUDA half is.
class NcclSums::Library {
 public:
  Library() : handle_(::dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      throw Error(ErrorKind::kUnsupported, "several GPUs need NCCL: libnccl.so.2 cannot be opened",
                  "pip install torch brings it, as nvidia-nccl; or train with one process");
    }
  }

  template <typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    const int status = symbol<int(Arguments...)>(name)(arguments...);
    if (status != kSuccess) {
      fail(ErrorKind::kIo, "NCCL: ", name, ": ", symbol<const char*(int)>("ncclGetErrorString")(status));
    }
  }

 private:
  template <typename Function>
  Function* symbol(const char* name) const {
    void* found = ::dlsym(handle_, name);
    if (found == nullptr) {
      fail(ErrorKind::kUnsupported, "NCCL: libnccl.so.2 has no ", name);
    }
    return reinterpret_cast<Function*>(found);
  }

  void* handle_;
};

NcclSums::NcclSums(ProcessGroup& group, c10::Device device) : library_(std::make_unique<Library>()) {
  const c10::DeviceGuard guard(device);
  UniqueId id{};
  if (group.is_first()) {
    library_->call("ncclGetUniqueId", &id);
  }
  const std::string all = group.text_from_first({id.bytes.data(), id.bytes.size()});
  std::copy(all.begin(), all.end(), id.bytes.begin());
  library_->call("ncclCommInitRank", &communicator_, static_cast<int>(group.size()), id,
                 static_cast<int>(group.rank()));
}

// A communicator that a process lost ends with it: to destroy it would wait for the others.
NcclSums::~NcclSums() = default;

void NcclSums::sum(const at::Tensor& tensor) {
  const c10::DeviceGuard guard(tensor.device());
  const c10::impl::VirtualGuardImpl streams(tensor.device().type());
  void* const stream = streams.getStreamNativeHandle(streams.getStream(tensor.device()));
  library_->call("ncclAllReduce", static_cast<const void*>(tensor.const_data_ptr()), tensor.mutable_data_ptr(),
                 static_cast<std::size_t>(tensor.numel()), type_of(tensor.scalar_type()), kSum, communicator_, stream);
}

}  // namespace weft::training
