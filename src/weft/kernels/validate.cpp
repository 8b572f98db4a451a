// SPDX-License-Identifier: Apache-2.0
// What every kernel may rely on. Checks numbers and pointers, not the memory behind them.
#include <cmath>

#include "weft/kernels/arguments.h"

namespace weft::kernels {
namespace {

const char* shape_problem(const AttentionArguments& arguments) noexcept {
  if (arguments.batch < 0 || arguments.query_length < 0 || arguments.key_length < 0) {
    return "batch and lengths must not be negative";
  }
  if (arguments.heads < 1 || arguments.key_heads < 1 || arguments.heads % arguments.key_heads != 0) {
    return "heads must be a positive multiple of key_heads";
  }
  if (arguments.head_dim < 1 || arguments.head_dim > kMaximumHeadDim || arguments.value_dim < 1 ||
      arguments.value_dim > kMaximumHeadDim) {
    return "head_dim and value_dim must be between 1 and 256";
  }
  return nullptr;
}

const char* pointer_problem(const AttentionArguments& arguments) noexcept {
  const bool has_queries = arguments.batch > 0 && arguments.query_length > 0;
  const bool has_keys = arguments.batch > 0 && arguments.key_length > 0;
  if (has_queries && (arguments.query.data == nullptr || arguments.output.data == nullptr)) {
    return "query and output must not be null";
  }
  if (has_queries && arguments.log_sum_exp == nullptr) {
    return "log_sum_exp must not be null";
  }
  if (has_keys && (arguments.key.data == nullptr || arguments.value.data == nullptr)) {
    return "key and value must not be null";
  }
  return nullptr;
}

const char* layout_problem(const AttentionArguments& arguments) noexcept {
  const pattern::LayoutView& layout = arguments.layout;
  if (layout.group == nullptr || layout.row_begin == nullptr) {
    return "the layout must not be null";
  }
  if (layout.query_length != arguments.query_length || layout.key_length != arguments.key_length) {
    return "the layout was made for other lengths";
  }
  if (layout.heads != arguments.heads || (layout.batch != 1 && layout.batch != arguments.batch)) {
    return "the layout was made for another number of heads or batch rows";
  }
  if (layout.tile_query < 1 || layout.tile_key < 1) {
    return "the tile must be positive";
  }
  return nullptr;
}

const char* option_problem(const AttentionArguments& arguments) noexcept {
  if (!std::isfinite(arguments.scale)) {
    return "scale must be finite";
  }
  if (!(arguments.dropout.probability >= 0.0F && arguments.dropout.probability < 1.0F)) {
    return "dropout must be in [0, 1)";
  }
  const DistanceTable& table = arguments.distances;
  if (table.scores != nullptr && (table.span < 1 || table.rows < 1 || table.rows > 2)) {
    return "a distance table must have one or two rows and at least one entry";
  }
  const RelativeProduct& relative = arguments.relative;
  if (relative.query.data != nullptr && (relative.rows.data == nullptr || relative.span < 1)) {
    return "a relative product must have at least one row";
  }
  const RowPositions& positions = arguments.positions;
  if (positions.queries != nullptr && positions.keys == nullptr && arguments.batch > 0 && arguments.key_length > 0) {
    return "positions of queries need those of keys";
  }
  return nullptr;
}

using Check = const char* (*)(const AttentionArguments&) noexcept;
constexpr Check kChecks[] = {shape_problem, pointer_problem, layout_problem, option_problem};

}  // namespace

const char* validate(const AttentionArguments& arguments) noexcept {
  for (const Check check : kChecks) {
    if (const char* problem = check(arguments)) {
      return problem;
    }
  }
  return nullptr;
}

}  // namespace weft::kernels
