// SPDX-License-Identifier: Apache-2.0
// A field that was given goes over the directory, whatever its value.
#include "weft/tasks/parameters/embedding.h"

#include <algorithm>
#include <vector>

#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"

namespace weft::tasks {
namespace {

std::vector<checkpoint::PoolingMode> modes_of(const std::string& names) {
  std::vector<checkpoint::PoolingMode> modes;
  if (names == "model") {
    return modes;
  }
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    try {
      modes.push_back(checkpoint::parse_pooling_mode(names.substr(begin, end - begin)));
    } catch (const Error& error) {
      throw UsageError(concat(option("pooling"), ": ", error.what()), error.hint());
    }
    begin = end + 1;
  }
  return modes;
}

}  // namespace

EmbedOverrides embed_overrides(const EmbedConfig& config, const formats::Json& given) {
  EmbedOverrides overrides{.pooling = modes_of(config.pooling)};
  if (given.contains("normalize")) {
    overrides.normalize = config.normalize;
  }
  if (given.contains("prompt")) {
    overrides.prompt = config.prompt;
  }
  if (given.contains("prompt_name")) {
    overrides.prompt_name = config.prompt_name;
  }
  if (config.dimensions >= 0) {
    overrides.dimensions = config.dimensions;
  }
  return overrides;
}

}  // namespace weft::tasks
