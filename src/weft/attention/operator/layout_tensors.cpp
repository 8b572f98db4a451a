// SPDX-License-Identifier: Apache-2.0
// The first tensor of a layout keeps the layout itself in its memory's context, which is the way back. Tensors without
// one are checked entry by entry and copied.
#include "weft/attention/operator/layout_tensors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "weft/attention/backends/host_memory.h"
#include "weft/core/error.h"

namespace weft::attention {
namespace {

constexpr std::size_t kArrays = 6;
constexpr std::size_t kSizes = 8;
constexpr std::array<const char*, kArrays> kArrayNames{"group", "row_begin", "key_block",
                                                       "kind",  "mask_bits", "log_weight"};

std::array<std::int64_t, kSizes> sizes_of(const pattern::BlockLayout& blocks) {
  return {blocks.tile.query,   blocks.tile.key, blocks.query_length, blocks.key_length,
          blocks.query_offset, blocks.heads,    blocks.batch,        blocks.groups};
}

void let_go(void* context) { delete static_cast<LayoutPtr*>(context); }

template <typename Number>
at::Tensor view_of(const LayoutPtr& layout, const std::vector<Number>& numbers) {
  const at::ScalarType dtype = sizeof(Number) == 8 ? at::kLong : std::is_same_v<Number, float> ? at::kFloat : at::kInt;
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (count == 0) {
    return at::empty({0}, dtype);
  }
  void* memory = const_cast<Number*>(numbers.data());  // never written
  return at::for_blob(memory, {count})
      .context(new LayoutPtr(layout), let_go)
      .options(at::TensorOptions(dtype))
      .make_tensor();
}

// The layout that a tensor is a view of, or null.
LayoutPtr viewed_by(const at::Tensor& tensor) {
  const auto* layout = tensor.storage().data_ptr().cast_context<LayoutPtr>(let_go);
  return layout == nullptr ? nullptr : *layout;
}

template <typename Number>
std::vector<Number> numbers_of(const at::Tensor& tensor) {
  const at::Tensor held = tensor.contiguous();
  const auto* first = static_cast<const Number*>(held.const_data_ptr());
  return {first, first + held.numel()};
}

void check_layout_tensors(at::TensorList tensors, at::IntArrayRef sizes) {
  require(tensors.size() == kArrays && sizes.size() == kSizes, "attention: a layout is ", kArrays, " tensors and ",
          kSizes, " sizes, found ", tensors.size(), " and ", sizes.size());
  constexpr std::array kTypes{at::kInt, at::kLong, at::kInt, at::kInt, at::kLong, at::kFloat};
  for (std::size_t at = 0; at < kArrays; ++at) {
    require(tensors[at].dim() == 1 && tensors[at].scalar_type() == kTypes[at] && is_in_host_memory(tensors[at]),
            "attention: the layout's ", kArrayNames[at], " must be one-dimensional ", kTypes[at], " on the CPU, found ",
            tensors[at].scalar_type(), " ", tensors[at].sizes(), " on ", tensors[at].device());
  }
}

void check_counts(const pattern::BlockLayout& layout) {
  require(layout.query_length >= 0 && layout.key_length >= 0 && layout.heads >= 1 && layout.batch >= 1 &&
              layout.groups >= 0,
          "attention: the layout's lengths, heads, batch and groups must not be negative");
  // Beyond these their products leave int64.
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  require(layout.query_length <= kMost && layout.key_length <= kMost && layout.heads <= kMost &&
              layout.batch <= kMost && layout.groups <= kMost && layout.query_offset >= -kMost &&
              layout.query_offset <= kMost,
          "attention: the layout's lengths, offset, heads, batch and groups must be at most ", kMost, ", found ",
          at::IntArrayRef(sizes_of(layout)));
  require(static_cast<std::int64_t>(layout.group.size()) == layout.batch * layout.heads,
          "attention: the layout's group must have batch * heads = ", layout.batch * layout.heads, " entries, found ",
          layout.group.size());
  require(static_cast<std::int64_t>(layout.row_begin.size()) == layout.groups * layout.query_blocks() + 1,
          "attention: the layout's row_begin must have groups * query blocks + 1 = ",
          layout.groups * layout.query_blocks() + 1, " entries, found ", layout.row_begin.size());
  require(layout.kind.size() == layout.key_block.size(), "attention: the layout's kind must have an entry for each of ",
          layout.key_block.size(), " blocks, found ", layout.kind.size());
}

void check_indices(const pattern::BlockLayout& layout) {
  const auto inside = [](std::int64_t index, std::int64_t count) { return index >= 0 && index < count; };
  const std::int64_t words = std::int64_t{layout.tile.query} * ((layout.tile.key + 63) / 64);
  const std::int64_t masks = static_cast<std::int64_t>(layout.mask_bits.size()) / words;
  const std::int64_t weights =
      static_cast<std::int64_t>(layout.log_weight.size()) / (std::int64_t{layout.tile.query} * layout.tile.key);
  require(std::all_of(layout.group.begin(), layout.group.end(),
                      [&](std::int32_t group) { return inside(group, layout.groups); }),
          "attention: the layout's group names a group that the layout does not have");
  require(layout.row_begin.front() == 0 && layout.row_begin.back() == layout.blocks() &&
              std::is_sorted(layout.row_begin.begin(), layout.row_begin.end()),
          "attention: the layout's row_begin must rise from 0 to the number of blocks, ", layout.blocks());
  require(std::all_of(layout.key_block.begin(), layout.key_block.end(),
                      [&](std::int32_t block) { return inside(block, layout.key_blocks()); }),
          "attention: the layout's key_block names a block beyond the keys");
  require(std::all_of(layout.kind.begin(), layout.kind.end(),
                      [&](std::int32_t kind) {
                        return pattern::is_full(kind) || (pattern::is_partial(kind) && inside(kind, masks)) ||
                               (pattern::is_weighted(kind) && inside(pattern::weight_index(kind), weights));
                      }),
          "attention: the layout's kind names a mask or weight that the layout does not have");
}

// Whether every tensor and size is the layout's own, and not a mixture of several.
bool is_view_of(at::TensorList tensors, at::IntArrayRef sizes, const LayoutPtr& layout) {
  const pattern::BlockLayout& own = layout->blocks();
  const auto same = [](const at::Tensor& tensor, const auto& numbers) {
    return tensor.numel() == static_cast<std::int64_t>(numbers.size()) &&
           (numbers.empty() || tensor.const_data_ptr() == numbers.data());
  };
  return sizes == at::IntArrayRef(sizes_of(own)) && same(tensors[0], own.group) && same(tensors[1], own.row_begin) &&
         same(tensors[2], own.key_block) && same(tensors[3], own.kind) && same(tensors[4], own.mask_bits) &&
         same(tensors[5], own.log_weight);
}

}  // namespace

LayoutTensors to_tensors(const LayoutPtr& layout) {
  const pattern::BlockLayout& blocks = layout->blocks();
  const auto sizes = sizes_of(blocks);
  return {{view_of(layout, blocks.group), view_of(layout, blocks.row_begin), view_of(layout, blocks.key_block),
           view_of(layout, blocks.kind), view_of(layout, blocks.mask_bits), view_of(layout, blocks.log_weight)},
          {sizes.begin(), sizes.end()}};
}

LayoutPtr from_tensors(at::TensorList tensors, at::IntArrayRef sizes) {
  check_layout_tensors(tensors, sizes);
  if (LayoutPtr viewed = viewed_by(tensors[0]); viewed != nullptr && is_view_of(tensors, sizes, viewed)) {
    return viewed;
  }
  pattern::BlockLayout layout;
  require(sizes[0] >= 1 && sizes[0] <= 4096 && sizes[1] >= 1 && sizes[1] <= 4096,
          "attention: the layout's tile must be 1 to 4096, found ", sizes[0], " x ", sizes[1]);
  layout.tile = {static_cast<std::int32_t>(sizes[0]), static_cast<std::int32_t>(sizes[1])};
  layout.query_length = sizes[2];
  layout.key_length = sizes[3];
  layout.query_offset = sizes[4];
  layout.heads = sizes[5];
  layout.batch = sizes[6];
  layout.groups = sizes[7];
  layout.group = numbers_of<std::int32_t>(tensors[0]);
  layout.row_begin = numbers_of<std::int64_t>(tensors[1]);
  layout.key_block = numbers_of<std::int32_t>(tensors[2]);
  layout.kind = numbers_of<std::int32_t>(tensors[3]);
  layout.mask_bits = numbers_of<std::uint64_t>(tensors[4]);
  layout.log_weight = numbers_of<float>(tensors[5]);
  check_counts(layout);
  check_indices(layout);
  layout.group_edges = pattern::count_group_edges(layout);
  return std::make_shared<const Layout>(std::move(layout));
}

}  // namespace weft::attention
