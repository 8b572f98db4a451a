// SPDX-License-Identifier: Apache-2.0
// Memory is mapped twice: where a tensor says that it is, nobody may read; where operators of the CPU find it, they
// may. A fallback for all operators makes CPU tensors over the second of them, calls the operator, and turns what comes
// back into tensors of the device.
#include "support/layers/pretended_cuda.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/transformers/attention.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>
#include <torch/library.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/layers/pretended_pinned.h"

namespace weft::test {
namespace {

constexpr c10::DeviceType kType = c10::DeviceType::CUDA;
constexpr std::size_t kArenaBytes = std::size_t{8} << 30;  // addresses; pages are taken when they are written
constexpr std::size_t kAlignment = 256;

c10::Device device() { return {kType, 0}; }

void* checked_map(void* address) {
  if (address == MAP_FAILED) {  // NOLINT(performance-no-int-to-ptr)
    throw std::runtime_error("the pretended GPU gets no memory");
  }
  return address;
}

/// The memory of the device: first fit.
class Arena {
 public:
  static Arena& only() {
    static auto* const arena = new Arena;  // tensors may outlive main()
    return *arena;
  }

  void* allocate(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const std::size_t needed = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second >= needed) {
        const auto [begin, size] = *hole;
        holes_.erase(hole);
        if (size > needed) {
          holes_.emplace(begin + needed, size - needed);
        }
        sizes_.emplace(begin, needed);
        current_ += static_cast<std::int64_t>(bytes);
        asked_[begin] = static_cast<std::int64_t>(bytes);
        peak_ = std::max(peak_, current_);
        return shown_ + begin;
      }
    }
    throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "CUDA out of memory. The GPU is a pretended one.");
  }

  void release(void* address) {
    const std::scoped_lock lock(mutex_);
    const auto begin = static_cast<std::size_t>(static_cast<char*>(address) - shown_);
    std::size_t size = sizes_.at(begin);
    sizes_.erase(begin);
    current_ -= asked_.at(begin);
    asked_.erase(begin);
    auto next = holes_.lower_bound(begin);
    if (next != holes_.end() && next->first == begin + size) {
      size += next->second;
      next = holes_.erase(next);
    }
    if (next != holes_.begin() && std::prev(next)->first + std::prev(next)->second == begin) {
      std::prev(next)->second += size;
    } else {
      holes_.emplace(begin, size);
    }
  }

  /// Where the CPU finds what a tensor has at `address`.
  void* readable(const void* address) const {
    return address == nullptr ? nullptr : readable_ + (static_cast<const char*>(address) - shown_);
  }

  void protect(int protection) const {
    checked_map(::mprotect(shown_, kArenaBytes, protection) == 0 ? shown_ : MAP_FAILED);
  }

  std::int64_t current() const { return current_; }
  std::int64_t peak() const { return peak_; }
  void reset_peak() { peak_ = current_; }

 private:
  Arena() {
    const int file = ::memfd_create("pretended_gpu", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, kArenaBytes) != 0) {
      throw std::runtime_error("the pretended GPU gets no memory");
    }
    shown_ =
        static_cast<char*>(checked_map(::mmap(nullptr, kArenaBytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0)));
    readable_ = static_cast<char*>(
        checked_map(::mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0)));
    ::close(file);
    holes_.emplace(0, kArenaBytes);
  }

  std::mutex mutex_;
  char* shown_ = nullptr;
  char* readable_ = nullptr;
  std::map<std::size_t, std::size_t> holes_;  // begin, size
  std::unordered_map<std::size_t, std::size_t> sizes_;
  std::unordered_map<std::size_t, std::int64_t> asked_;
  std::int64_t current_ = 0;
  std::int64_t peak_ = 0;
};

void release_address(void* address) { Arena::only().release(address); }

class PretendedAllocator : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* const address = bytes == 0 ? nullptr : Arena::only().allocate(bytes);
    return {address, address, address == nullptr ? &c10::detail::deleteNothing : &release_address, device()};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(Arena::only().readable(to), Arena::only().readable(from), bytes);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t /*pool*/) override {}
  void recordStream(const c10::DataPtr& /*data*/, c10::Stream /*stream*/) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex /*device*/) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[0].current = Arena::only().current();
    stats.allocated_bytes[0].peak = Arena::only().peak();
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex /*device*/) override {}
  void resetPeakStats(c10::DeviceIndex /*device*/) override { Arena::only().reset_peak(); }
};

PretendedAllocator& allocator() {
  static auto* const one = new PretendedAllocator;
  return *one;
}

/// One device with one stream, which has always done its work.
class PretendedGuard : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device /*device*/) const override { return device(); }
  c10::Device getDevice() const override { return device(); }
  void setDevice(c10::Device /*device*/) const override {}
  void uncheckedSetDevice(c10::Device /*device*/) const noexcept override {}
  c10::Stream getStream(c10::Device /*device*/) const override { return c10::Stream(c10::Stream::DEFAULT, device()); }
  c10::Stream getDefaultStream(c10::Device /*device*/) const override {
    return c10::Stream(c10::Stream::DEFAULT, device());
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  void* getStreamNativeHandle(c10::Stream /*stream*/) const override { return nullptr; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void** /*event*/, const c10::Stream& /*stream*/, c10::DeviceIndex /*device*/,
              c10::EventFlag /*flag*/) const override {}
  void block(void* /*event*/, const c10::Stream& /*stream*/) const override {}
  bool queryEvent(void* /*event*/) const override { return true; }
  bool queryStream(const c10::Stream& /*stream*/) const override { return true; }
  void synchronizeStream(const c10::Stream& /*stream*/) const override {}
  void synchronizeEvent(void* /*event*/) const override {}
  void synchronizeDevice(c10::DeviceIndex /*device*/) const override {}
};

at::Tensor empty_on_device(at::IntArrayRef sizes, at::ScalarType dtype) {
  return {at::detail::empty_generic(sizes, &allocator(), c10::DispatchKeySet(c10::DispatchKey::CUDA), dtype, {})};
}

/// CPU tensors over the memory of the device, for one call of an operator.
class Aliases {
 public:
  explicit Aliases(std::string name) : name_(std::move(name)) {}

  /// `tensor` as the CPU has it. Errors: c10::Error for a tensor of the CPU that has dimensions.
  at::Tensor of(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.is_cuda()) {
      TORCH_CHECK(!tensor.defined() || tensor.dim() == 0, name_,
                  ": Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! ",
                  "(of the CPU: ", tensor.sizes(), ")");
      return tensor;
    }
    for (const auto& [given, alias] : tensors_) {
      if (given.is_same(tensor)) {
        return alias;
      }
    }
    tensors_.emplace_back(tensor, over(storage_of(tensor.storage()), tensor));
    return tensors_.back().second;
  }

  /// What an operator returned, or wrote, on the device.
  at::Tensor on_device(const at::Tensor& result) {
    if (!result.defined() || result.is_cuda()) {
      return result;
    }
    for (const auto& [given, alias] : tensors_) {
      if (alias.is_same(result)) {
        return given;
      }
    }
    for (const auto& [device, storage] : storages_) {
      if (storage.unsafeGetStorageImpl() == result.storage().unsafeGetStorageImpl()) {
        return over(device, result);
      }
    }
    const at::Tensor whole = empty_on_device({static_cast<std::int64_t>(result.storage().nbytes())}, at::kByte);
    copy_bytes(whole.storage(), result.storage());
    return over(whole.storage(), result);
  }

  /// Tensors that the operator gave other sizes, or other memory.
  void take_resized() {
    for (const auto& [given, alias] : tensors_) {
      const at::Storage& storage = alias.storage();
      if (storage.data() != Arena::only().readable(given.storage().data())) {
        at::Storage own = given.storage();
        own.set_data_ptr_noswap(allocator().allocate(storage.nbytes()));
        own.set_nbytes(storage.nbytes());
        copy_bytes(own, storage);
      }
      if (given.sizes() != alias.sizes() || given.strides() != alias.strides()) {
        given.unsafeGetTensorImpl()->set_sizes_and_strides(alias.sizes(), alias.strides());
      }
    }
  }

 private:
  static void copy_bytes(const at::Storage& to, const at::Storage& from) {
    if (from.nbytes() > 0) {
      std::memcpy(Arena::only().readable(to.data()), from.data(), from.nbytes());
    }
  }

  // A tensor of the sizes of `like` over a storage of either side.
  static at::Tensor over(const at::Storage& storage, const at::Tensor& like) {
    const auto key = storage.device_type() == c10::DeviceType::CPU ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
    at::Tensor tensor =
        at::detail::make_tensor<at::TensorImpl>(at::Storage(storage), c10::DispatchKeySet(key), like.dtype());
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
    if (like.unsafeGetTensorImpl()->is_wrapped_number()) {
      tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    }
    if (like.is_conj()) {
      tensor._set_conj(true);
    }
    return tensor;
  }

  at::Storage storage_of(const at::Storage& device) {
    for (const auto& [known, alias] : storages_) {
      if (known.unsafeGetStorageImpl() == device.unsafeGetStorageImpl()) {
        return alias;
      }
    }
    void* const data = Arena::only().readable(device.data());
    storages_.emplace_back(device, at::Storage(c10::Storage::use_byte_size_t(), device.nbytes(),
                                               c10::DataPtr(data, c10::Device(c10::kCPU)), c10::GetCPUAllocator(),
                                               /*resizable=*/true));
    return storages_.back().second;
  }

  std::string name_;
  std::vector<std::pair<at::Tensor, at::Tensor>> tensors_;
  std::vector<std::pair<at::Storage, at::Storage>> storages_;
};

std::atomic<std::int64_t> operators{0};

std::mutex counts_mutex;
std::map<std::string, std::int64_t> counts;

void count(const std::string& name) {
  ++operators;
  const std::scoped_lock lock(counts_mutex);
  ++counts[name];
}

// `value` with every tensor of it changed by `change`, and no device but the CPU.
template <typename Change>
c10::IValue changed(const c10::IValue& value, const Change& change) {
  if (value.isTensor()) {
    return change(value.toTensor());
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(change(tensor));
    }
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      list.push_back(tensor ? std::optional(change(*tensor)) : std::nullopt);
    }
    return list;
  }
  return value.isDevice() ? c10::IValue(c10::Device(c10::kCPU)) : value;
}

void compute_on_cpu(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  const std::string& name = op.schema().name();
  const std::string& overload = op.schema().overload_name();
  const bool waits = name == "aten::_local_scalar_dense" || name == "aten::nonzero";  // both bring a number home
  count(waits ? "wait" : overload.empty() ? name : name + "." + overload);
  Aliases aliases(name);
  const std::size_t arguments = op.schema().arguments().size();
  for (std::size_t i = stack->size() - arguments; i < stack->size(); ++i) {
    (*stack)[i] = changed((*stack)[i], [&](const at::Tensor& tensor) { return aliases.of(tensor); });
  }
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  aliases.take_resized();
  const std::size_t results = op.schema().returns().size();
  for (std::size_t i = stack->size() - results; i < stack->size(); ++i) {
    (*stack)[i] = changed((*stack)[i], [&](const at::Tensor& tensor) { return aliases.on_device(tensor); });
  }
}

at::Tensor empty(c10::SymIntArrayRef sizes, std::optional<at::ScalarType> dtype, std::optional<at::Layout> /*layout*/,
                 std::optional<at::Device> /*device*/, std::optional<bool> /*pin*/,
                 std::optional<at::MemoryFormat> format) {
  return {at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(sizes), &allocator(),
                                    c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                    dtype.value_or(at::get_default_dtype_as_scalartype()), format)};
}

at::Tensor empty_strided(c10::SymIntArrayRef sizes, c10::SymIntArrayRef strides, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> /*layout*/, std::optional<at::Device> /*device*/,
                         std::optional<bool> /*pin*/) {
  return {at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(sizes), C10_AS_INTARRAYREF_SLOW(strides),
                                            &allocator(), c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                            dtype.value_or(at::get_default_dtype_as_scalartype()))};
}

// The one operator that both sides may meet in.
at::Tensor& copy(at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  count(to.device() == from.device() || (from.is_cpu() && non_blocking) ? "aten::copy_" : "wait");
  if (from.is_cpu() && non_blocking && from.nbytes() > 0 && !PinnedMemory::only().holds(from.const_data_ptr())) {
    throw std::runtime_error("the pretended GPU may read memory that is not pinned after the call: wait for the copy");
  }
  Aliases aliases("copy_");
  const at::AutoDispatchBelowADInplaceOrView below;
  at::Tensor readable = to.is_cuda() ? aliases.of(to) : to;
  readable.copy_(from.is_cuda() ? aliases.of(from) : from);
  return to;
}

// The CPU has it not: products of 16-bit numbers whose result is their sums.
at::Tensor summed_mm(const at::Tensor& a, const at::Tensor& b, at::ScalarType dtype) {
  count("aten::mm.dtype");
  Aliases aliases("mm");
  const at::AutoDispatchBelowADInplaceOrView below;
  return aliases.on_device(aliases.of(a).to(dtype).mm(aliases.of(b).to(dtype)));
}

/// What LibTorch asks of CUDA before it computes.
class PretendedHooks : public at::CUDAHooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }
  bool isPinnedPtr(const void* /*data*/) const override { return false; }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &PinnedMemory::only(); }
  int getNumGPUs() const override { return 1; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex current_device() const override { return 0; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex /*device*/) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex /*device*/) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex /*device*/) const override { return 0; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex /*device*/) const override {
    static const at::Generator generator = at::detail::createCPUGenerator();
    return generator;
  }
};

std::unique_ptr<at::CUDAHooksInterface> make_hooks(at::CUDAHooksArgs /*none*/) {
  return std::make_unique<PretendedHooks>();
}

struct Registered {
  Registered()
      : fallback(torch::Library::IMPL, "_", c10::DispatchKey::CUDA, __FILE__, __LINE__),
        aten(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__) {
    c10::SetAllocator(kType, &allocator(), 255);
    c10::impl::DeviceGuardImplRegistrar(kType, new PretendedGuard);
    fallback.fallback(torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu>());
    aten.impl("empty.memory_format", TORCH_FN(empty));
    aten.impl("empty_strided", TORCH_FN(empty_strided));
    aten.impl("copy_", TORCH_FN(copy));
    aten.impl("mm.dtype", TORCH_FN(summed_mm));
    // Elsewhere CUDA has convolutions of its own.
    for (const char* name : {"convolution", "convolution_backward"}) {
      aten.impl(name, torch::CppFunction::makeFromBoxedFunction<&compute_on_cpu>());
    }
    at::CUDAHooksRegistry()->Register("CUDAHooks", make_hooks);
    // LibTorch's own attention: by products, which every device has.
    at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr([](auto...) -> std::int64_t { return 0; });
  }

  torch::Library fallback;
  torch::Library aten;
};

}  // namespace

c10::Device pretended_cuda() {
  static const auto* const registered = new Registered;
  static_cast<void>(registered);
  return device();
}

std::int64_t pretended_operators() noexcept { return operators; }

std::int64_t pretended_pinned_bytes() noexcept { return PinnedMemory::only().asked(); }

std::map<std::string, std::int64_t> pretended_operator_counts() {
  const std::scoped_lock lock(counts_mutex);
  return counts;
}

OpenedMemory::OpenedMemory() { Arena::only().protect(PROT_READ | PROT_WRITE); }

OpenedMemory::~OpenedMemory() { Arena::only().protect(PROT_NONE); }

}  // namespace weft::test
