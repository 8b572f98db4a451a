// SPDX-License-Identifier: Apache-2.0
// Two generations of memories: a step reads one and writes the other.
#include "weft/training/stream_memory.h"

#include <algorithm>

#include <ATen/ops/scalar_tensor.h>

#include "weft/attention/state/state_checks.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::training {
namespace {

bool has_shape(const at::Tensor& rows, const StreamMemory::Shape& shape, std::int64_t most) {
  return rows.defined() && at::isFloatingType(rows.scalar_type()) && rows.dim() == 3 && rows.size(0) == shape.rows &&
         rows.size(1) > 0 && rows.size(1) <= most && rows.size(2) == shape.width;
}

std::vector<at::Tensor> rows_of(const checkpoint::NamedTensors& tensors, const std::string& prefix,
                                const StreamMemory::Shape& shape, std::int64_t most, const std::string& where) {
  std::vector<at::Tensor> layers;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string name = concat(prefix, layer);
    const at::Tensor rows = attention::named(tensors, name);
    if (!has_shape(rows, shape, most) || (layer > 0 && rows.size(1) != layers.front().size(1))) {
      fail(ErrorKind::kFormat, where, ": expected ", quote(name), " [", shape.rows, ", up to ", most, ", ", shape.width,
           "], as long as those of other layers");
    }
    layers.push_back(rows);
  }
  return layers;
}

}  // namespace

bool StreamMemory::is_whole() const {
  return std::all_of(after_.begin(), after_.end(), [](const auto& memory) { return memory != nullptr; });
}

std::shared_ptr<layers::SegmentMemory> StreamMemory::begin(std::int64_t step, std::int64_t part, bool goes_on) {
  const auto place = static_cast<std::size_t>(part);
  require(part >= 0 && place < before_.size(), "memory: a step has ", before_.size(), " parts, but there is a part ",
          part);
  if (step == step_ + 1 && is_whole()) {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      before_[i] = std::move(*after_[i]);
      after_[i] = nullptr;
    }
    step_ = step;
  }
  require(step == step_, "memory: step ", step, " was asked for behind the memories of step ", step_,
          "; steps go on one by one");
  after_[place] = std::make_shared<layers::SegmentMemory>(goes_on ? before_[place] : layers::SegmentMemory{});
  return after_[place];
}

void StreamMemory::save(const std::filesystem::path& file) const {
  const bool whole = is_whole();
  checkpoint::NamedTensors tensors{
      {"step", at::scalar_tensor(whole ? step_ + 1 : step_, at::TensorOptions().dtype(at::kLong))}};
  for (std::size_t part = 0; part < before_.size(); ++part) {
    for (const auto& [name, tensor] : (whole ? *after_[part] : before_[part]).save()) {
      tensors.emplace_back(concat("parts.", part, ".", name), tensor);
    }
  }
  checkpoint::save_tensors(file, tensors);
}

void StreamMemory::load(const FilePlace& file, std::int64_t step, const Shape& shape) {
  const checkpoint::NamedTensors tensors = checkpoint::load_tensors(file);
  const std::string where = quote(file.path().native(), 4096);
  const at::Tensor saved = attention::named(tensors, "step");
  const bool is_number = saved.defined() && saved.numel() == 1 && saved.scalar_type() == at::kLong;
  if (!is_number || saved.item<std::int64_t>() != step) {
    fail(ErrorKind::kFormat, where, ": expected memories of step ", step);
  }
  std::vector<layers::SegmentMemory> loaded(before_.size());
  const bool has_compressed = shape.compressed > 0 && attention::named(tensors, "parts.0.compressed.0").defined();
  if (tensors.size() > 1) {  // one is `step`: nothing was remembered before the first step
    for (std::size_t part = 0; part < loaded.size(); ++part) {
      const std::string prefix = concat("parts.", part, ".");
      loaded[part].layers = rows_of(tensors, prefix + "layers.", shape, shape.most, where);
      if (has_compressed) {
        loaded[part].compressed = rows_of(tensors, prefix + "compressed.", shape, shape.compressed, where);
      }
    }
    const std::size_t each = static_cast<std::size_t>(shape.layers) * (has_compressed ? 2 : 1);
    const std::size_t expected = 1 + loaded.size() * each;
    if (tensors.size() != expected) {
      fail(ErrorKind::kFormat, where, ": expected ", expected, " tensors, for ", loaded.size(), " parts and ",
           shape.layers, " layers, found ", tensors.size());
    }
  }
  before_ = std::move(loaded);
  std::fill(after_.begin(), after_.end(), nullptr);
  step_ = step;
}

}  // namespace weft::training
