// SPDX-License-Identifier: Apache-2.0
// A case keeps the layout, its bits and the plans of work as one piece of bytes, and makes calls whose arrays lie where
// the caller has copied that piece to.
#include "device/device_case.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/kernels/cuda/library.h"
#include "weft/kernels/cuda/plan.h"
#include "weft/kernels/cuda/workspace.h"
#include "weft/kernels/dropout.h"
#include "weft/pattern/pattern.h"

namespace {

using weft::kernels::AttentionArguments;
using weft::kernels::cuda::DeviceCall;

constexpr std::size_t kAligned = 256;

std::string& problem() {
  thread_local std::string text;
  return text;
}

/// Runs `work`; what it throws becomes problem().
template <typename Work>
const char* guarded(const Work& work) {
  try {
    work();
    return nullptr;
  } catch (const std::exception& error) {
    problem() = error.what();
    return problem().c_str();
  }
}

/// Arrays one behind the other in one piece, each at a multiple of kAligned.
class Packed {
 public:
  template <typename T>
  std::size_t add(const std::vector<T>& values) {
    const std::size_t at = bytes_.size();
    const std::size_t size = values.size() * sizeof(T);
    bytes_.resize(at + (size + kAligned) / kAligned * kAligned);
    std::memcpy(bytes_.data() + at, values.data(), size);
    return at;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// The work of one direction, and where its arrays lie among the packed ones.
struct Plan {
  weft::kernels::cuda::PlanSize size;
  std::size_t items = 0;
  std::size_t item_begin = 0;
  std::size_t joins = 0;
  std::size_t join_begin = 0;
};

Plan packed_plan(const weft::kernels::cuda::PlanSource& source, Packed& packed) {
  Plan plan{weft::kernels::cuda::plan_size(source)};
  std::vector<weft::kernels::cuda::WorkItem> items(static_cast<std::size_t>(plan.size.items));
  std::vector<weft::kernels::cuda::JoinItem> joins(static_cast<std::size_t>(plan.size.joins));
  std::vector<std::int64_t> item_begin(static_cast<std::size_t>(source.groups) + 1);
  std::vector<std::int64_t> join_begin(static_cast<std::size_t>(source.groups) + 1);
  weft::kernels::cuda::fill_plan(source, {items.data(), item_begin.data(), joins.data(), join_begin.data()});
  plan.items = packed.add(items);
  plan.item_begin = packed.add(item_begin);
  plan.joins = packed.add(joins);
  plan.join_begin = packed.add(join_begin);
  return plan;
}

/// Counts bytes where it has no memory, else gives them out.
class Room {
 public:
  explicit Room(void* memory) : memory_(static_cast<std::byte*>(memory)) {}
  void* operator()(std::int64_t bytes) const {
    const std::size_t at = used_;
    used_ += (static_cast<std::size_t>(bytes) + kAligned - 1) / kAligned * kAligned;
    return memory_ == nullptr ? nullptr : memory_ + at;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  mutable std::size_t used_ = 0;
};

weft::pattern::Site site_of(std::int64_t heads, std::int64_t queries, std::int64_t keys) {
  weft::pattern::Site site;
  site.query_length = queries;
  site.key_length = keys;
  site.query_offset = keys - queries;
  site.heads = heads;
  return site;
}

}  // namespace

struct WeftCase {
  WeftCase(const char* expression, const WeftCaseShape& of)
      : shape(of),
        layout(weft::pattern::compile(weft::pattern::Pattern::parse(expression), site_of(of.heads, of.queries, of.keys),
                                      {64, 64})),
        transpose(weft::pattern::transpose(layout)) {
    const weft::pattern::LayoutView view = layout.view();
    counts = weft::kernels::cuda::counts_of(view);
    const auto words = static_cast<std::size_t>(64 * (counts.partial + counts.weighted));
    std::vector<std::uint64_t> row_words(words);
    std::vector<std::uint64_t> column_words(words);
    weft::kernels::cuda::fill_bits(view, counts, row_words.data(), column_words.data());
    row_bits = packed.add(row_words);
    column_bits = packed.add(column_words);
    group = packed.add(layout.group);
    row_begin = packed.add(layout.row_begin);
    key_block = packed.add(layout.key_block);
    kind = packed.add(layout.kind);
    mask_bits = packed.add(layout.mask_bits);
    log_weight = packed.add(layout.log_weight);
    column_begin = packed.add(transpose.column_begin);
    query_block = packed.add(transpose.query_block);
    block = packed.add(transpose.block);
    // As the backend does: few blocks a part where weft_cuda_decode takes the call.
    const bool is_decoded = of.queries == 1;
    const std::int64_t longest = weft::kernels::cuda::longest_part(view);
    rows = packed_plan({view.row_begin, view.key_block, view.kind, view.query_blocks, counts.groups,
                        is_decoded ? weft::kernels::cuda::kLongestDecodePart : longest},
                       packed);
    columns = packed_plan({transpose.view().column_begin, transpose.view().query_block, nullptr, view.key_blocks,
                           counts.groups, longest, of.heads != of.key_heads},
                          packed);
  }

  template <typename T>
  const T* at(std::size_t offset) const {
    return reinterpret_cast<const T*>(place + offset);
  }
  weft::kernels::cuda::WorkList list(const Plan& plan) const {
    const auto writable = [this](std::size_t offset) { return const_cast<std::byte*>(place) + offset; };
    return weft::kernels::cuda::work_list(plan.size,
                                          {reinterpret_cast<weft::kernels::cuda::WorkItem*>(writable(plan.items)),
                                           reinterpret_cast<std::int64_t*>(writable(plan.item_begin)),
                                           reinterpret_cast<weft::kernels::cuda::JoinItem*>(writable(plan.joins)),
                                           reinterpret_cast<std::int64_t*>(writable(plan.join_begin))});
  }

  AttentionArguments arguments(const WeftCaseTensors& tensors) const {
    AttentionArguments result;
    result.dtype = static_cast<weft::kernels::DType>(shape.dtype);
    result.batch = shape.batch;
    result.heads = shape.heads;
    result.key_heads = shape.key_heads;
    result.query_length = shape.queries;
    result.key_length = shape.keys;
    result.head_dim = shape.head_dim;
    result.value_dim = shape.value_dim;
    result.scale = 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
    result.query = input(tensors.query);
    result.key = input(tensors.key);
    result.value = input(tensors.value);
    result.output = output(tensors.output);
    result.log_sum_exp = tensors.log_sum_exp;
    result.key_keep = tensors.key_keep;
    result.dropout.probability = shape.dropout;
    result.dropout.seed = shape.seed;
    result.layout = layout.view();
    if (tensors.distances != nullptr) {
      result.distances = {tensors.distances, 1, tensors.distance_span, tensors.distance_zero,
                          shape.keys - shape.queries};
    }
    result.positions.queries = tensors.query_positions;
    result.positions.keys = tensors.key_positions;
    result.positions.causal = tensors.query_positions != nullptr;
    return result;
  }
  static weft::kernels::Input input(const WeftCaseTensor& of) {
    return {of.data, of.batch_stride, of.head_stride, of.row_stride};
  }
  static weft::kernels::Output output(const WeftCaseTensor& of) {
    return {of.data, of.batch_stride, of.head_stride, of.row_stride};
  }

  void make_call(const WeftCaseTensors& tensors, bool is_backward, const Room& room) {
    call = {};
    call.attention = arguments(tensors);
    if (is_backward) {
      call.gradients.output_gradient = input(tensors.output_gradient);
      call.gradients.query_gradient = output(tensors.query_gradient);
      call.gradients.key_gradient = output(tensors.key_gradient);
      call.gradients.value_gradient = output(tensors.value_gradient);
      call.gradients.distance_gradient = tensors.distance_gradient;
      call.gradients.transpose = {at<std::int64_t>(column_begin), at<std::int32_t>(query_block),
                                  at<std::int64_t>(block)};
    }
    call.is_aligned = weft::kernels::cuda::has_aligned_rows(call.attention, call.gradients);
    call.draws = weft::kernels::cuda::draws_of(call.attention.dropout);
    call.is_tf32 = shape.is_tf32 != 0;
    call.rows = list(rows);
    call.columns = list(columns);
    call.has_weights = counts.weighted > 0;
    call.bits = {at<std::uint64_t>(row_bits), at<std::uint64_t>(column_bits), counts.partial};
    weft::pattern::LayoutView& view = call.attention.layout;
    view.group = at<std::int32_t>(group);
    view.row_begin = at<std::int64_t>(row_begin);
    view.key_block = at<std::int32_t>(key_block);
    view.kind = at<std::int32_t>(kind);
    view.mask_bits = at<std::uint64_t>(mask_bits);
    view.log_weight = at<float>(log_weight);
    if (is_backward) {
      weft::kernels::cuda::take_backward_room(call, room);
    } else {
      weft::kernels::cuda::take_forward_room(call, room);
    }
  }

  WeftCaseShape shape;
  weft::pattern::BlockLayout layout;
  weft::pattern::LayoutTranspose transpose;
  weft::kernels::cuda::LayoutCounts counts;
  Packed packed;
  std::size_t row_bits, column_bits, group, row_begin, key_block, kind, mask_bits, log_weight;
  std::size_t column_begin, query_block, block;
  Plan rows, columns;
  const std::byte* place = nullptr;  ///< of the packed arrays, on the device
  DeviceCall call;
};

const char* weft_case_problem() { return problem().c_str(); }

WeftCase* weft_case_open(const char* expression, const WeftCaseShape* shape) {
  std::unique_ptr<WeftCase> opened;
  const char* wrong = guarded([&] { opened = std::make_unique<WeftCase>(expression, *shape); });
  return wrong == nullptr ? opened.release() : nullptr;
}

void weft_case_close(WeftCase* opened) { delete opened; }

unsigned long weft_case_call_bytes() { return weft::kernels::cuda::kCallBytes; }

double weft_case_edges(const WeftCase* opened) { return static_cast<double>(opened->layout.edges()); }

std::int64_t weft_case_tables_bytes(const WeftCase* opened) {
  return static_cast<std::int64_t>(opened->packed.bytes().size());
}

void weft_case_fill_tables(WeftCase* opened, void* bytes, void* place) {
  std::memcpy(bytes, opened->packed.bytes().data(), opened->packed.bytes().size());
  opened->place = static_cast<const std::byte*>(place);
}

std::int64_t weft_case_room_bytes(WeftCase* opened, const WeftCaseTensors* tensors, int is_backward) {
  const Room room(nullptr);
  opened->make_call(*tensors, is_backward != 0, room);
  return static_cast<std::int64_t>(room.used());
}

const void* weft_case_call(WeftCase* opened, const WeftCaseTensors* tensors, void* room, int is_backward) {
  opened->make_call(*tensors, is_backward != 0, Room(room));
  return &opened->call;
}

const char* weft_case_multiplicity(const char* expression, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                                   std::uint8_t* to) {
  return guarded([&] {
    const weft::pattern::Pattern pattern = weft::pattern::Pattern::parse(expression);
    weft::pattern::Site site = site_of(heads, queries, keys);
    pattern.check(site);
    for (site.head = 0; site.head < heads; ++site.head) {
      for (std::int64_t query = 0; query < queries; ++query) {
        for (std::int64_t key = 0; key < keys; ++key) {
          *to++ = static_cast<std::uint8_t>(pattern.multiplicity(site, query, key));
        }
      }
    }
  });
}

void weft_case_kept(const WeftCaseShape* shape, std::uint8_t* to) {
  weft::kernels::Dropout dropout;
  dropout.probability = shape->dropout;
  dropout.seed = shape->seed;
  for (std::int64_t batch = 0; batch < shape->batch; ++batch) {
    for (std::int64_t head = 0; head < shape->heads; ++head) {
      for (std::int64_t query = 0; query < shape->queries; ++query) {
        weft::kernels::DropoutRow row(dropout, batch, head, query);
        for (std::int64_t key = 0; key < shape->keys; ++key) {
          *to++ = row.keeps(key) ? 1 : 0;
        }
      }
    }
  }
}

const char* weft_case_blocks(const char* expression, std::int64_t heads, std::int64_t queries, std::int64_t keys,
                             std::int32_t tile, std::uint8_t* to) {
  return guarded([&] {
    const weft::pattern::BlockLayout layout =
        weft::pattern::compile(weft::pattern::Pattern::parse(expression), site_of(heads, queries, keys), {tile, tile});
    const weft::pattern::LayoutView view = layout.view();
    std::memset(to, 0, static_cast<std::size_t>(heads * layout.query_blocks() * layout.key_blocks()));
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t row = 0; row < layout.query_blocks(); ++row, to += layout.key_blocks()) {
        const weft::pattern::BlockRange blocks = view.row(0, head, row);
        for (std::int64_t index = blocks.begin; index < blocks.end; ++index) {
          to[view.key_block[index]] = weft::pattern::is_full(view.kind[index]) ? 2 : 1;
        }
      }
    }
  });
}
