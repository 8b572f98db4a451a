// SPDX-License-Identifier: Apache-2.0
// The tensors of a structure, one after the other.
#include "weft/attention/mechanisms/etc/etc_structure.h"

#include <ATen/ops/constant_pad_nd.h>

#include <array>

#include "weft/core/error.h"

namespace weft::attention {
namespace {

void check_shape_of(const at::Tensor& part, at::IntArrayRef sizes, at::ScalarType type, const char* name) {
  require(!part.defined() || (part.scalar_type() == type && part.sizes() == sizes), "global-local attention takes ",
          name, " as ", type, ' ', sizes, ", found ", part.defined() ? part.scalar_type() : type, ' ',
          part.defined() ? part.sizes() : sizes);
}

}  // namespace

void check_structure(const EtcStructure& structure, std::int64_t batch, std::int64_t tokens, std::int64_t globals) {
  const std::array<std::int64_t, 2> long_sizes{batch, tokens};
  const std::array<std::int64_t, 2> global_sizes{batch, globals};
  check_shape_of(structure.sentence, long_sizes, at::kLong, "sentence numbers");
  check_shape_of(structure.paragraph, long_sizes, at::kLong, "paragraph numbers");
  check_shape_of(structure.linked, long_sizes, at::kLong, "linked numbers");
  check_shape_of(structure.segment, long_sizes, at::kLong, "segments");
  check_shape_of(structure.global_segment, global_sizes, at::kLong, "segments of global tokens");
  check_shape_of(structure.keep, long_sizes, at::kBool, "a mask of tokens");
  check_shape_of(structure.global_keep, global_sizes, at::kBool, "a mask of global tokens");
  check_shape_of(structure.sees_all, global_sizes, at::kBool, "the global tokens that see all");
}

EtcStructure rows_of_structure(const EtcStructure& structure, const at::Tensor& rows) {
  EtcStructure chosen = structure;
  for (at::Tensor* part : {&chosen.sentence, &chosen.paragraph, &chosen.linked, &chosen.segment, &chosen.global_segment,
                           &chosen.keep, &chosen.global_keep, &chosen.sees_all}) {
    *part = part->defined() ? part->index_select(0, rows) : *part;
  }
  return chosen;
}

EtcStructure with_padding(const EtcStructure& structure, std::int64_t columns) {
  EtcStructure padded = structure;
  for (at::Tensor* part : {&padded.sentence, &padded.paragraph, &padded.linked, &padded.segment}) {
    *part = part->defined() ? at::constant_pad_nd(*part, {0, columns}, -1) : *part;
  }
  padded.keep = padded.keep.defined() ? at::constant_pad_nd(padded.keep, {0, columns}, 0) : padded.keep;
  return padded;
}

}  // namespace weft::attention
