// SPDX-License-Identifier: Apache-2.0
// Real lengths, holes and bound positions of a batch.
#include "weft/models/stack/batch_rows.h"

#include <ATen/ops/arange.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft::models {
namespace {

at::Tensor kept_tokens(const at::Tensor& mask, const at::Tensor& input_ids) {
  require(mask.sizes() == input_ids.sizes(), "attention_mask has shape ", mask.sizes(), ", input_ids ",
          input_ids.sizes());
  require(!mask.is_floating_point() && !mask.is_complex(), "attention_mask must be bool or integer, found ",
          mask.scalar_type());
  return mask.to(input_ids.device()).ne(0);
}

// A row's end becomes its length; padding before that end can only be hidden key by key.
void set_lengths(attention::AttentionContext& context, const at::Tensor& kept) {
  const at::Tensor lengths = row_lengths(kept);
  // As many kept tokens as the length says means no holes.
  if (!kept.sum(1).equal(lengths)) {
    context.key_keep = kept;
  }
  if (lengths.eq(kept.size(1)).all().item<bool>()) {
    return;
  }
  const at::Tensor on_cpu = lengths.cpu();
  const auto* values = on_cpu.const_data_ptr<std::int64_t>();
  context.rows.resize(static_cast<std::size_t>(kept.size(0)));
  for (std::size_t row = 0; row < context.rows.size(); ++row) {
    context.rows[row].query_length = values[row];
    context.rows[row].key_length = values[row];
  }
}

// Against the row's real length: a position in its padding would look at nothing.
void check_positions(const std::vector<std::int64_t>& positions, std::size_t row, std::int64_t length) {
  for (const std::int64_t position : positions) {
    require(position >= 0 && position < length, "global_positions[", row, "]: ", position, " is outside the row's ",
            length, " tokens");
  }
}

}  // namespace

void check_range(const at::Tensor& values, std::int64_t end, const char* name, const char* table) {
  // Two answers from the device a call; an id outside would read beyond the table.
  const std::int64_t smallest = values.min().item<std::int64_t>();
  const std::int64_t largest = values.max().item<std::int64_t>();
  require(smallest >= 0 && largest < end, name, " holds ", smallest < 0 ? smallest : largest,
          ", but it must be in [0, ", table, " = ", end, ")");
}

at::Tensor row_lengths(const at::Tensor& keep) {
  const at::Tensor ends = at::arange(1, keep.size(1) + 1, at::TensorOptions(keep.device()).dtype(at::kLong));
  return ends.mul(keep).amax(1);
}

void describe_rows(attention::AttentionContext& context, const at::Tensor& mask,
                   const std::vector<std::vector<std::int64_t>>& global_positions, const at::Tensor& input_ids) {
  if (mask.defined()) {
    set_lengths(context, kept_tokens(mask, input_ids));
  }
  if (global_positions.empty()) {
    return;
  }
  const auto batch = static_cast<std::size_t>(input_ids.size(0));
  require(global_positions.size() == batch, "global_positions has ", global_positions.size(), " rows, the batch ",
          batch);
  context.rows.resize(batch);
  for (std::size_t row = 0; row < batch; ++row) {
    check_positions(global_positions[row], row, context.rows[row].key_length.value_or(input_ids.size(1)));
    context.rows[row].input = global_positions[row];
  }
}

}  // namespace weft::models
