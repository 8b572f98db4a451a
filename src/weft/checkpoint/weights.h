// SPDX-License-Identifier: Apache-2.0
// A model's parameters against a file of tensors: every name and shape checked, in both directions, before a value
// moves. What the tensors are called is a WeightMap (models/weight_map.h).
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <torch/nn/module.h>

#include "weft/checkpoint/tensors.h"
#include "weft/models/weight_map.h"

namespace weft::checkpoint {

using models::HuggingFaceNames;
using models::WeightMap;

/// "; the file has 'encoder.weight'": of the tensors that `is_free`, the one whose name ends most like `wanted`. Empty
/// where there is none.
std::string name_that_is_there(const formats::TensorFile& file, std::string_view wanted,
                               const std::function<bool(const std::string& name)>& is_free);

/// What the tensors of the parameters are called in a file.
std::vector<std::string> names_in_file(const torch::nn::Module& model, const WeightMap& map);

/// Throws kFormat unless `file` holds the parameters of `model` (which may be on the meta device) and nothing else that
/// matters: names a missing, a surplus or a misshapen tensor with both shapes, and how many more there are. Returns the
/// parameters that begin anew.
std::vector<std::string> check_weights(const torch::nn::Module& model, const formats::TensorFile& file,
                                       const WeightMap& map = {});

/// How read_weights() takes a file.
struct WeightReading {
  bool check_finite = false;  ///< NaN or infinity is a kNumeric error that names the tensor
  bool int8 = false;  ///< what modules can keep as int8 becomes int8; it does in any case where the map has codes
};

/// Reads the file's tensors into the parameters, converting to their dtype and device; passes over those in `missing`.
/// Call check_weights before. What becomes int8 is read tensor by tensor, and never stored as the model's dtype.
/// Errors: those of layers::Int8Weight, and kUnsupported for int8 elsewhere than on a CPU.
void read_weights(torch::nn::Module& model, const formats::TensorFile& file, const WeightReading& reading,
                  const WeightMap& map = {}, const std::vector<std::string>& missing = {});

/// Errors: kIo where `directory` holds weights in another form: they would be read before, or beside, those that are
/// written.
void refuse_other_weights(const std::filesystem::path& directory);

/// The parameters under their names in a file, as views, then codes and scales of what is int8, and the constants of
/// `map` behind them.
NamedTensors named_weights(const torch::nn::Module& model, const WeightMap& map = {});

}  // namespace weft::checkpoint
