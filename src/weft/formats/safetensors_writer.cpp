// SPDX-License-Identifier: Apache-2.0
// Writing safetensors: the reference's order, an aligned header, one atomic file.
#include <algorithm>
#include <limits>
#include <unordered_set>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/formats/safetensors.h"

namespace weft::formats {
namespace {

// Bytes of a tensor whose shape and data make sense.
std::uint64_t checked_size(const TensorSource& tensor) {
  const std::string name = quote(tensor.name);
  require(tensor.shape.size() <= kMaximumDimensions, "tensor ", name, " has ", tensor.shape.size(),
          " dimensions, at most ", kMaximumDimensions, " can be written");
  std::uint64_t size = dtype_size(tensor.dtype);
  for (const std::int64_t dimension : tensor.shape) {
    require(dimension >= 0, "tensor ", name, " has the negative dimension ", dimension);
    require(!__builtin_mul_overflow(size, static_cast<std::uint64_t>(dimension), &size), "the size of tensor ", name,
            " overflows 64 bits");
  }
  require(size == 0 || tensor.data != nullptr, "tensor ", name, " has no data");
  return size;
}

// Largest alignment first, so that every tensor is aligned to its elements; then by name.
std::vector<const TensorSource*> in_file_order(std::span<const TensorSource> tensors) {
  std::vector<const TensorSource*> order;
  std::unordered_set<std::string_view> names{"__metadata__"};
  for (const TensorSource& tensor : tensors) {
    require(names.insert(tensor.name).second, "two tensors cannot both be named ", Quoted(tensor.name));
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const TensorSource* left, const TensorSource* right) {
    return left->dtype != right->dtype ? left->dtype > right->dtype : left->name < right->name;
  });
  return order;
}

// The JSON of the header, with offsets counted from the end of it.
std::string header_text(const std::vector<const TensorSource*>& order, Metadata metadata) {
  metadata.try_emplace("format", "pt");
  std::string text = "{\"__metadata__\":" + print_json(Json(metadata));
  std::uint64_t position = 0;
  for (const TensorSource* tensor : order) {
    const std::uint64_t end = position + checked_size(*tensor);
    require(end >= position, "the tensors together overflow 64 bits");
    Json entry = Json::object();
    entry["dtype"] = dtype_name(tensor->dtype);
    entry["shape"] = tensor->shape;
    entry["data_offsets"] = {position, end};
    text += "," + print_json(Json(tensor->name)) + ":" + print_json(entry);
    position = end;
  }
  text += '}';
  // Blanks behind the JSON, which its grammar allows, bring the data to a multiple of 8.
  constexpr std::size_t kAlignment = 8;
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  require(text.size() <= kMaximumSafetensorsHeader, "the header would have ", text.size(), " bytes, at most ",
          kMaximumSafetensorsHeader, " is allowed");
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const TensorSource> tensors,
                       const Metadata& metadata) {
  const std::vector<const TensorSource*> order = in_file_order(tensors);
  const std::string header = header_text(order, metadata);
  AtomicFile file(path);
  const std::uint64_t length = header.size();
  file.write(&length, sizeof(length));
  file.write(header);
  for (const TensorSource* tensor : order) {
    file.write(tensor->data, checked_size(*tensor));
  }
  file.commit();
}

}  // namespace weft::formats
