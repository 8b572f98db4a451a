// SPDX-License-Identifier: Apache-2.0
// A model's parameters against a file of tensors: every name and shape checked, in both directions, before a value
// moves. What the tensors are called is a WeightMap.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <torch/nn/module.h>

#include "weft/checkpoint/tensors.h"

namespace weft::checkpoint {

/// Where one of Weft's parameters lies in a file.
struct HuggingFaceNames {
  /// One name, or the three (query, key, value) whose tensors lie under each other in Weft's.
  std::vector<std::string> parts;
  /// Further names that a lone part may have; the first that the file has is read.
  std::vector<std::string> alternatives = {};
  /// Names under which the same values are written once more, for transformers to find them all.
  std::vector<std::string> copies = {};
  /// Dimensions of size 1 that the file's tensors have beyond Weft's: {1, 3} for [a, 1, b, 1] of [a, b].
  std::vector<std::int64_t> ones = {};
};

/// How the parameters of a model and the tensors of a file go together. As it is: by equal names, none missing, none
/// too many.
struct WeightMap {
  std::function<HuggingFaceNames(const std::string& parameter)> names = {};
  /// Whether the file may lack the parameter or, with `misshapen`, have it in another shape: it begins anew.
  std::function<bool(const std::string& parameter, bool misshapen)> may_be_new = {};
  /// Whether a tensor that belongs to no parameter does no harm.
  std::function<bool(std::string_view name)> may_be_surplus = {};
  /// Mechanism that a caller asked for in place of the config's, whose own parameters the file may lack; empty: none.
  std::string asked_attention = {};
  bool asked_may_be_new = false;  ///< those parameters begin anew
  bool takes_float64 = false;
  std::string model = "the model in config.json";  ///< for the message of a tensor too many

  HuggingFaceNames names_of(const std::string& parameter) const;
  /// Whether `parameter` is one of those that `asked_attention` brings.
  bool is_asked(std::string_view parameter) const;
};

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

/// Reads the file's tensors into the parameters, converting to their dtype and device; passes over those in `missing`.
/// Call check_weights before. With `check_finite`, NaN or infinity is a kNumeric error that names the tensor.
void read_weights(torch::nn::Module& model, const formats::TensorFile& file, bool check_finite,
                  const WeightMap& map = {}, const std::vector<std::string>& missing = {});

/// Errors: kIo where `directory` holds weights in another form: they would be read before, or beside, those that are
/// written.
void refuse_other_weights(const std::filesystem::path& directory);

/// The parameters under their names in a file, as views.
NamedTensors named_weights(const torch::nn::Module& model, const WeightMap& map = {});

}  // namespace weft::checkpoint
