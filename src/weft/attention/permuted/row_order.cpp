// SPDX-License-Identifier: Apache-2.0
// Heads lie one behind the other as one matrix of rows, so that a copy of rows is one index_select: it copies whole
// rows, where gather would look up every column.
#include "weft/attention/permuted/row_order.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>

namespace weft::attention {
namespace {

/// The rows of the matrix [B H N, C] that `order` names for a tensor of these sizes: int64 [B H P].
at::Tensor matrix_rows(const at::Tensor& order, at::IntArrayRef sizes) {
  const at::Tensor first_of_head = at::arange(sizes[0] * sizes[1], order.options()).mul_(sizes[2]);
  return (order + first_of_head.view({sizes[0], sizes[1], 1})).flatten();
}

}  // namespace

at::Tensor rows_at(const at::Tensor& rows, const at::Tensor& order) {
  if (!order.defined()) {
    return rows;
  }
  if (order.size(0) == 1 && order.size(1) == 1) {  // a position's heads lie together in a model: one copy of them all
    return rows.transpose(1, 2).index_select(1, order.flatten()).transpose(1, 2);
  }
  const at::Tensor matrix = rows.contiguous().view({-1, rows.size(3)});
  return matrix.index_select(0, matrix_rows(order, rows.sizes()))
      .view({rows.size(0), rows.size(1), order.size(2), rows.size(3)});
}

at::Tensor numbers_at(const at::Tensor& numbers, const at::Tensor& order) {
  return !order.defined() ? numbers
                          : numbers.gather(2, order.expand({numbers.size(0), numbers.size(1), order.size(2)}));
}

void add_rows_at(const at::Tensor& sums, const at::Tensor& order, const at::Tensor& added) {
  if (!order.defined()) {
    sums.add_(added);
    return;
  }
  const at::Tensor index = matrix_rows(order, sums.sizes());
  sums.view({-1, sums.size(3)}).index_add_(0, index, added.reshape({-1, sums.size(3)}));
}

at::Tensor places_of(const at::Tensor& order) {
  const at::Tensor places = at::arange(order.size(2), order.options()).expand_as(order);
  return at::empty_like(order, at::MemoryFormat::Contiguous).scatter_(2, order, places);
}

}  // namespace weft::attention
