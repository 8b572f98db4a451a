// SPDX-License-Identifier: Apache-2.0
// All arrays of a copy lie in one piece of memory, so that it is one transfer.
#include "weft/attention/backends/cuda/device_layout.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/kernels/cuda/plan.h"

namespace weft::attention {
namespace {

using kernels::cuda::PlanArrays;

constexpr std::int64_t kArrayAlignment = 256;

/// Arrays one behind the other: places first, then memory for all of them.
class ArrayPlaces {
 public:
  template <typename T>
  std::int64_t add(std::int64_t count) {
    const std::int64_t place = bytes_;
    bytes_ += (count * static_cast<std::int64_t>(sizeof(T)) + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
    return place;
  }
  at::Tensor host_memory() const { return at::empty({std::max<std::int64_t>(bytes_, 1)}, at::kByte); }

 private:
  std::int64_t bytes_ = 0;
};

template <typename T>
T* array_in(const at::Tensor& memory, std::int64_t place) {
  return reinterpret_cast<T*>(memory.mutable_data_ptr<std::uint8_t>() + place);
}

/// A vector of a layout in a piece of memory.
template <typename T>
class CopiedArray {
 public:
  CopiedArray(ArrayPlaces& places, const std::vector<T>& values)
      : values_(values), place_(places.add<T>(static_cast<std::int64_t>(values.size()))) {}
  void write(const at::Tensor& memory) const { std::copy(values_.begin(), values_.end(), array_in<T>(memory, place_)); }
  const T* in(const at::Tensor& memory) const { return array_in<T>(memory, place_); }

 private:
  const std::vector<T>& values_;
  std::int64_t place_;
};

/// The work of one direction in a piece of memory.
class CopiedPlan {
 public:
  CopiedPlan(ArrayPlaces& places, const kernels::cuda::PlanSource& source)
      : source_(source),
        size_(kernels::cuda::plan_size(source)),
        items_(places.add<kernels::cuda::WorkItem>(size_.items)),
        item_begin_(places.add<std::int64_t>(source.groups + 1)),
        joins_(places.add<kernels::cuda::JoinItem>(size_.joins)),
        join_begin_(places.add<std::int64_t>(source.groups + 1)) {}
  void write(const at::Tensor& memory) const { kernels::cuda::fill_plan(source_, arrays_in(memory)); }
  kernels::cuda::WorkList in(const at::Tensor& memory) const {
    return kernels::cuda::work_list(size_, arrays_in(memory));
  }

 private:
  PlanArrays arrays_in(const at::Tensor& memory) const {
    return {array_in<kernels::cuda::WorkItem>(memory, items_), array_in<std::int64_t>(memory, item_begin_),
            array_in<kernels::cuda::JoinItem>(memory, joins_), array_in<std::int64_t>(memory, join_begin_)};
  }

  kernels::cuda::PlanSource source_;
  kernels::cuda::PlanSize size_;
  std::int64_t items_;
  std::int64_t item_begin_;
  std::int64_t joins_;
  std::int64_t join_begin_;
};

RowsOnDevice copy_rows(const pattern::BlockLayout& blocks, c10::Device device) {
  const kernels::cuda::LayoutCounts counts = kernels::cuda::counts_of(blocks.view());
  ArrayPlaces places;
  const CopiedArray group(places, blocks.group);
  const CopiedArray row_begin(places, blocks.row_begin);
  const CopiedArray key_block(places, blocks.key_block);
  const CopiedArray kind(places, blocks.kind);
  const CopiedArray log_weight(places, blocks.log_weight);
  const std::int64_t words = (counts.partial + counts.weighted) * 64;
  const std::int64_t by_rows = places.add<std::uint64_t>(words);
  const std::int64_t by_columns = places.add<std::uint64_t>(words);
  const bool is_decoded = blocks.tile.query == 1 || blocks.query_length == 1;
  const CopiedPlan plan(
      places, {.begin = blocks.row_begin.data(),
               .met = blocks.key_block.data(),
               .kind = blocks.kind.data(),
               .blocks = blocks.query_blocks(),
               .groups = counts.groups,
               .longest = is_decoded ? kernels::cuda::kLongestDecodePart : kernels::cuda::longest_part(blocks.view())});

  const at::Tensor host = places.host_memory();
  group.write(host);
  row_begin.write(host);
  key_block.write(host);
  kind.write(host);
  log_weight.write(host);
  kernels::cuda::fill_bits(blocks.view(), counts, array_in<std::uint64_t>(host, by_rows),
                           array_in<std::uint64_t>(host, by_columns));
  plan.write(host);

  RowsOnDevice copy;
  copy.memory = host.to(device);
  copy.layout = blocks.view();
  copy.layout.group = group.in(copy.memory);
  copy.layout.row_begin = row_begin.in(copy.memory);
  copy.layout.key_block = key_block.in(copy.memory);
  copy.layout.kind = kind.in(copy.memory);
  copy.layout.mask_bits = nullptr;
  copy.layout.log_weight = log_weight.in(copy.memory);
  copy.bits = {array_in<std::uint64_t>(copy.memory, by_rows), array_in<std::uint64_t>(copy.memory, by_columns),
               counts.partial};
  copy.work = plan.in(copy.memory);
  copy.groups = counts.groups;
  copy.has_weights = counts.weighted > 0;
  return copy;
}

ColumnsOnDevice copy_columns(const Layout& layout, c10::Device device, bool shares_keys) {
  const pattern::LayoutTranspose& transpose = layout.transpose();
  ArrayPlaces places;
  const CopiedArray column_begin(places, transpose.column_begin);
  const CopiedArray query_block(places, transpose.query_block);
  const CopiedArray block(places, transpose.block);
  const CopiedPlan plan(places, {.begin = transpose.column_begin.data(),
                                 .met = transpose.query_block.data(),
                                 .blocks = layout.blocks().key_blocks(),
                                 .groups = kernels::cuda::counts_of(layout.blocks().view()).groups,
                                 .longest = kernels::cuda::longest_part(layout.blocks().view()),
                                 .joins_all = shares_keys});

  const at::Tensor host = places.host_memory();
  column_begin.write(host);
  query_block.write(host);
  block.write(host);
  plan.write(host);

  ColumnsOnDevice copy;
  copy.memory = host.to(device);
  copy.transpose = {column_begin.in(copy.memory), query_block.in(copy.memory), block.in(copy.memory)};
  copy.work = plan.in(copy.memory);
  return copy;
}

/// A copy, and the stream whose memory it has.
template <typename Copy>
struct KeptCopy {
  Copy copy;
  c10::Stream stream;
};

/// All copies of a layout.
struct LayoutCopies {
  struct State {
    std::mutex mutex;
    std::map<c10::DeviceIndex, KeptCopy<RowsOnDevice>> rows;
    std::map<std::pair<c10::DeviceIndex, bool>, KeptCopy<ColumnsOnDevice>> columns;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};

LayoutCopies no_copies(const pattern::BlockLayout& /*blocks*/) { return {}; }

// The copy of a key. It is whole when the call that made it returns, whichever stream reads it then. Another stream
// than that whose memory it has is remembered to the allocator, for the layout may go while that stream reads.
template <typename Copies, typename Make>
const auto& kept_copy(Copies& copies, const typename Copies::key_type& key, const Launch& launch, const Make& make) {
  auto found = copies.find(key);
  if (found == copies.end()) {
    found = copies.emplace(key, typename Copies::mapped_type{make(), launch.stream()}).first;
  } else if (found->second.stream != launch.stream()) {
    const c10::DataPtr& memory = found->second.copy.memory.storage().data_ptr();
    c10::impl::VirtualGuardImpl(launch.stream().device_type()).recordDataPtrOnStream(memory, launch.stream());
  }
  return found->second.copy;
}

LayoutCopies::State& copies_of(const Layout& layout) { return *layout.kept(no_copies).state; }

}  // namespace

const RowsOnDevice& rows_on_device(const Layout& layout, const Launch& launch) {
  LayoutCopies::State& copies = copies_of(layout);
  const std::scoped_lock lock(copies.mutex);
  const c10::Device device = launch.stream().device();
  return kept_copy(copies.rows, device.index(), launch, [&] { return copy_rows(layout.blocks(), device); });
}

const ColumnsOnDevice& columns_on_device(const Layout& layout, const Launch& launch, bool shares_keys) {
  LayoutCopies::State& copies = copies_of(layout);
  const std::scoped_lock lock(copies.mutex);
  const c10::Device device = launch.stream().device();
  return kept_copy(copies.columns, {device.index(), shares_keys}, launch,
                   [&] { return copy_columns(layout, device, shares_keys); });
}

}  // namespace weft::attention
