// SPDX-License-Identifier: Apache-2.0
// viewer.js reads what is written here.
#include "weft/viewer/cell_codes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include "weft/formats/packed_text.h"

namespace weft::viewer {
namespace {

using formats::Json;

struct CodeScale {
  double low;
  double high;
};
constexpr CodeScale kMeanScale = {-16.0, 16.0};    // times the even share of a row
constexpr CodeScale kLargestScale = {-24.0, 0.0};  // a probability
constexpr double kSteps = 254.0;

std::string packed_numbers(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.contiguous();
  const auto* const bytes = static_cast<const char*>(plain.const_data_ptr());
  return formats::base64(formats::zlib_compressed({bytes, static_cast<std::size_t>(plain.nbytes())}));
}

at::Tensor codes_of(const at::Tensor& values, const at::Tensor& edges, const CodeScale& scale) {
  const at::Tensor place = (values.log2() - scale.low) / (scale.high - scale.low) * kSteps + 1.0;
  const at::Tensor codes = place.nan_to_num(1.0, kSteps + 1.0, 1.0).round().clamp(1.0, kSteps + 1.0);
  return at::where(edges > 0, codes, 0.0).to(at::kByte);
}

}  // namespace

Json cell_scales() {
  return {{"mean", {{"low", kMeanScale.low}, {"high", kMeanScale.high}}},
          {"largest", {{"low", kLargestScale.low}, {"high", kLargestScale.high}}}};
}

Json cells_json(const attention::HeadPicture& picture) {
  // Keys that a row of the cell sees, on the average: 1 over it is the even share.
  const at::Tensor even = picture.mean * picture.visible.unsqueeze(1);
  return {{"mean", packed_numbers(codes_of(even, picture.edges, kMeanScale))},
          {"largest", packed_numbers(codes_of(picture.largest, picture.edges, kLargestScale))}};
}

Json head_json(const attention::HeadPicture& picture) {
  Json json = cells_json(picture);
  json["key"] = packed_numbers(picture.key.to(at::kFloat));
  return json;
}

Json picture_json(const attention::HeadPicture& picture) {
  Json json = head_json(picture);
  json["top_key"] = packed_numbers(picture.top_key.to(at::kInt));
  json["top_weight"] = packed_numbers(picture.top_weight);
  return json;
}

}  // namespace weft::viewer
