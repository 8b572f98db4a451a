// SPDX-License-Identifier: Apache-2.0
// How the parameters of a model and the tensors of a file go together: what a family says, and the room checkpoint
// reads and writes by.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace weft::models {

/// Tensors by name, in the order in which they are written or were found.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Where one of Weft's parameters lies in a file.
struct HuggingFaceNames {
  /// One name, or the three (query, key, value) whose tensors lie under each other in Weft's.
  std::vector<std::string> parts;
  /// Rows of each part, as shares of all; empty: parts are equal.
  std::vector<std::int64_t> shares = {};
  /// Further names that a lone part may have; the first that the file has is read.
  std::vector<std::string> alternatives = {};
  /// Names under which the same values are written once more, for transformers to find them all.
  std::vector<std::string> copies = {};
  /// Dimensions of size 1 that the file's tensors have beyond Weft's: {1, 3} for [a, 1, b, 1] of [a, b].
  std::vector<std::int64_t> ones = {};
  bool transposed = false;  ///< the file's matrix is [inputs, outputs], Weft's [outputs, inputs]
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
  /// Tensors of a file that belong to no parameter: what `transformers` keeps of its constants and warns of where it
  /// is missing. Written behind the parameters, and never read.
  NamedTensors constants = {};
  bool asked_may_be_new = false;  ///< those parameters begin anew
  bool takes_float64 = false;
  bool has_codes = false;  ///< what modules can keep as int8 lies as codes and scales (checkpoint/int8/)
  std::string model = "the model in config.json";  ///< for the message of a tensor too many

  HuggingFaceNames names_of(const std::string& parameter) const;
  /// Whether `parameter` is one of those that `asked_attention` brings.
  bool is_asked(std::string_view parameter) const;
};

}  // namespace weft::models
