// SPDX-License-Identifier: Apache-2.0
// One reader and one writer a kind. Settings that the library would refuse, or would understand otherwise, are errors.
#include "weft/checkpoint/sentence/module_files.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "weft/checkpoint/tensors.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"

namespace weft::checkpoint {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* kConfig = "config.json";
constexpr const char* kVector = "sentence_embedding";
constexpr const char* kCopyWhole = "copy the directory whole; a model of the Hub comes whole with weft download NAME";

// The flags of versions before 6, in the order in which their vectors stand beside each other.
constexpr std::array<std::pair<const char*, PoolingMode>, kPoolingModes> kFlags{{
    {"pooling_mode_cls_token", PoolingMode::kCls},
    {"pooling_mode_max_tokens", PoolingMode::kMax},
    {"pooling_mode_mean_tokens", PoolingMode::kMean},
    {"pooling_mode_mean_sqrt_len_tokens", PoolingMode::kMeanSqrtLength},
    {"pooling_mode_weightedmean_tokens", PoolingMode::kWeightedMean},
    {"pooling_mode_lasttoken", PoolingMode::kLastToken},
}};

// A module's config.json, and how errors name it.
struct ModuleConfig {
  Json json;
  std::string where;
};

ModuleConfig read_config(const fs::path& directory, const ListedModule& listed) {
  const ModelFile file(directory, listed.path / kConfig);
  if (!file.exists()) {
    throw Error(ErrorKind::kFormat, concat(listed.where, ": there is no ", quoted_place(file.path())), kCopyWhole);
  }
  return {formats::read_json_object(file), quoted_place(file.path())};
}

std::int64_t size_of(const ModuleConfig& config, std::string_view name) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 24;
  const auto size = formats::value_of<std::int64_t>(config.json, name, config.where);
  if (size < 1 || size > kLargest) {
    fail(ErrorKind::kFormat, config.where, ": ", name, " must be 1 to ", kLargest, ", found ", size);
  }
  return size;
}

// Modules work on the vector of a text; one that is told to work on those of tokens belongs to another kind of model.
void require_vector(const ModuleConfig& config) {
  for (const char* name : {"module_input_name", "module_output_name"}) {
    const auto found = config.json.find(name);
    if (found != config.json.end() && !found->is_null() &&
        formats::value_of<std::string>(config.json, name, config.where) != kVector) {
      throw Error(
          ErrorKind::kUnsupported,
          concat(config.where, ": ", name, " must be ", quote(kVector), ", found ", quote(found->get<std::string>())),
          "Weft makes one vector a text; a model with one a token is read by other programs");
    }
  }
}

std::vector<PoolingMode> modes_of(const ModuleConfig& config) {
  std::vector<PoolingMode> modes;
  if (!config.json.contains("pooling_mode")) {
    for (const auto& [flag, mode] : kFlags) {
      if (formats::value_or(config.json, flag, config.where, false)) {
        modes.push_back(mode);
      }
    }
    return modes.empty() ? std::vector{PoolingMode::kMean} : modes;
  }
  for (const std::string& name :
       formats::value_of<std::vector<std::string>>(config.json, "pooling_mode", config.where)) {
    try {
      modes.push_back(parse_pooling_mode(name));
    } catch (const Error& error) {
      throw Error(ErrorKind::kFormat, concat(config.where, ": pooling_mode: ", error.what()), error.hint());
    }
  }
  if (modes.empty()) {
    fail(ErrorKind::kFormat, config.where, ": pooling_mode must name a mode, found an empty list");
  }
  return modes;
}

SentenceModule read_pooling(const fs::path& directory, const ListedModule& listed) {
  const ModuleConfig config = read_config(directory, listed);
  std::vector<std::string_view> known{"embedding_dimension", "word_embedding_dimension", "pooling_mode",
                                      "include_prompt"};
  std::ranges::transform(kFlags, std::back_inserter(known), [](const auto& flag) { return flag.first; });
  formats::check_keys(config.json, config.where, known, {});
  PoolingModule pooling;
  pooling.modes = modes_of(config);
  pooling.width =
      size_of(config, config.json.contains("embedding_dimension") ? "embedding_dimension" : "word_embedding_dimension");
  pooling.include_prompt = formats::value_or(config.json, "include_prompt", config.where, true);
  return pooling;
}

// What a module's weights must be: every name with its shape, and no other.
struct ExpectedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
};

std::unique_ptr<formats::TensorFile> open_module_weights(const fs::path& directory, const ListedModule& listed) {
  for (const char* name : {"model.safetensors", "pytorch_model.bin"}) {
    if (const ModelFile file(directory, listed.path / name); file.exists()) {
      return formats::open_tensor_file(file);
    }
  }
  throw Error(ErrorKind::kFormat,
              concat(listed.where, ": there is no model.safetensors or pytorch_model.bin in ",
                     quoted_place(directory / listed.path)),
              kCopyWhole);
}

[[noreturn]] void wrong_shape(const std::string& where, const formats::TensorInfo& found,
                              const ExpectedTensor& expected) {
  fail(ErrorKind::kFormat, where, ": ", quote(found.name), " has the shape ", at::IntArrayRef(found.shape),
       ", but config.json beside it says ", at::IntArrayRef(expected.shape));
}

std::vector<at::Tensor> read_module_weights(const fs::path& directory, const ListedModule& listed,
                                            const std::vector<ExpectedTensor>& expected) {
  const std::unique_ptr<formats::TensorFile> file = open_module_weights(directory, listed);
  const std::string where = quoted_place(file->path());
  for (const formats::TensorInfo& info : file->tensors()) {
    if (std::ranges::find(expected, info.name, &ExpectedTensor::name) == expected.end()) {
      fail(ErrorKind::kFormat, where, ": ", quote(info.name), " belongs to no weight that config.json beside it names");
    }
  }
  std::vector<at::Tensor> tensors;
  for (const ExpectedTensor& wanted : expected) {
    const formats::TensorInfo* const info = file->find(wanted.name);
    if (info == nullptr) {
      fail(ErrorKind::kFormat, where, ": the tensor ", quote(wanted.name), " is missing");
    }
    if (info->shape != wanted.shape) {
      wrong_shape(where, *info, wanted);
    }
    const at::Tensor tensor = read_tensor(*file, *info);
    if (!tensor.is_floating_point()) {
      fail(ErrorKind::kFormat, where, ": ", quote(wanted.name), " must hold floating-point numbers, found ",
           formats::dtype_name(info->dtype));
    }
    tensors.push_back(tensor.to(at::kFloat));
  }
  return tensors;
}

SentenceModule read_dense(const fs::path& directory, const ListedModule& listed) {
  const ModuleConfig config = read_config(directory, listed);
  require_vector(config);
  for (const auto& [name, value] : config.json.items()) {
    constexpr std::array<std::string_view, 7> kKnown{"in_features",         "out_features",      "bias",
                                                     "activation_function", "module_input_name", "module_output_name",
                                                     "use_residual"};
    if (std::ranges::find(kKnown, name) == kKnown.end()) {
      log_warning(config.where, ": ", quote(name), " is no setting of a Dense, and is not read");
    }
  }
  const std::int64_t in = size_of(config, "in_features");
  const std::int64_t out = size_of(config, "out_features");
  DenseModule dense;
  dense.activation = &dense_activation(
      formats::value_or(config.json, "activation_function", config.where, import_path(*dense.activation)),
      config.where);
  dense.use_residual = formats::value_or(config.json, "use_residual", config.where, false);
  std::vector<ExpectedTensor> expected{{"linear.weight", {out, in}}};
  const bool bias = formats::value_or(config.json, "bias", config.where, true);
  if (bias) {
    expected.push_back({"linear.bias", {out}});
  }
  const bool projected = dense.use_residual && in != out;
  if (projected) {
    expected.push_back({"residual.weight", {out, in}});
  }
  const std::vector<at::Tensor> tensors = read_module_weights(directory, listed, expected);
  dense.weight = tensors.front();
  dense.bias = bias ? tensors[1] : at::Tensor();
  dense.residual = projected ? tensors.back() : at::Tensor();
  return dense;
}

SentenceModule read_layer_norm(const fs::path& directory, const ListedModule& listed) {
  const ModuleConfig config = read_config(directory, listed);
  formats::check_keys(config.json, config.where, {"dimension"}, {});
  const std::int64_t width = size_of(config, "dimension");
  const std::vector<at::Tensor> tensors =
      read_module_weights(directory, listed, {{"norm.weight", {width}}, {"norm.bias", {width}}});
  return LayerNormModule{tensors[0], tensors[1]};
}

SentenceModule read_normalize(const fs::path& directory, const ListedModule& listed) {
  if (ModelFile(directory, listed.path / kConfig).exists() && !listed.path.empty()) {
    require_vector(read_config(directory, listed));
  }
  return NormalizeModule{};
}

SentenceModule read_dropout(const fs::path& directory, const ListedModule& listed) {
  DropoutModule dropout{0.2};  // the library's default
  if (ModelFile(directory, listed.path / kConfig).exists() && !listed.path.empty()) {
    const ModuleConfig config = read_config(directory, listed);
    dropout.rate = formats::value_or(config.json, "dropout", config.where, dropout.rate);
    if (!(dropout.rate >= 0 && dropout.rate <= 1)) {
      fail(ErrorKind::kFormat, config.where, ": dropout must be 0 to 1, found ", dropout.rate);
    }
  }
  return dropout;
}

using ReadModule = SentenceModule (*)(const fs::path& directory, const ListedModule& listed);
constexpr std::array<std::pair<std::string_view, ReadModule>, 5> kReaders{{{"Pooling", read_pooling},
                                                                           {"Dense", read_dense},
                                                                           {"LayerNorm", read_layer_norm},
                                                                           {"Normalize", read_normalize},
                                                                           {"Dropout", read_dropout}}};

void write_config(const fs::path& folder, const Json& config) {
  fs::create_directories(folder);
  write_file_atomically(folder / kConfig, formats::print_json(config, 2) + "\n");
}

// The old flags say every set of modes in their order, and are read by all versions.
void write(const fs::path& folder, const PoolingModule& pooling) {
  require(pooling.width >= 1, "a Pooling that is written must say how wide a token's vector is");
  Json config = Json::object();
  config["word_embedding_dimension"] = pooling.width;
  if (std::ranges::is_sorted(pooling.modes, std::less_equal<>())) {
    for (const auto& [flag, mode] : kFlags) {
      config[flag] = std::ranges::find(pooling.modes, mode) != pooling.modes.end();
    }
  } else {
    config = {{"embedding_dimension", pooling.width}, {"pooling_mode", Json::array()}};
    for (const PoolingMode mode : pooling.modes) {
      config["pooling_mode"].push_back(pooling_mode_name(mode));
    }
  }
  config["include_prompt"] = pooling.include_prompt;
  write_config(folder, config);
}

void write(const fs::path& folder, const DenseModule& dense) {
  NamedTensors tensors{{"linear.weight", dense.weight}};
  if (dense.bias.defined()) {
    tensors.emplace_back("linear.bias", dense.bias);
  }
  if (dense.residual.defined()) {
    tensors.emplace_back("residual.weight", dense.residual);
  }
  Json config{{"in_features", dense.weight.size(1)},
              {"out_features", dense.weight.size(0)},
              {"bias", dense.bias.defined()},
              {"activation_function", import_path(*dense.activation)}};
  if (dense.use_residual) {
    config["use_residual"] = true;
  }
  fs::create_directories(folder);
  save_tensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
  write_config(folder, config);
}

void write(const fs::path& folder, const LayerNormModule& norm) {
  fs::create_directories(folder);
  save_tensors(folder / "model.safetensors", {{"norm.weight", norm.weight}, {"norm.bias", norm.bias}},
               {{"format", "pt"}});
  Json config = Json::object();
  config["dimension"] = norm.weight.size(0);
  write_config(folder, config);
}

void write(const fs::path& /*folder*/, const NormalizeModule& /*normalize*/) {}

void write(const fs::path& folder, const DropoutModule& dropout) {
  Json config = Json::object();
  config["dropout"] = dropout.rate;
  write_config(folder, config);
}

// What a module takes, 0: any width; and what it gives, 0: the same.
std::pair<std::int64_t, std::int64_t> widths(const SentenceModule& module) {
  if (const auto* pooling = std::get_if<PoolingModule>(&module)) {
    return {pooling->width, 0};
  }
  if (const auto* dense = std::get_if<DenseModule>(&module)) {
    return {dense->weight.size(1), dense->weight.size(0)};
  }
  const auto* norm = std::get_if<LayerNormModule>(&module);
  return {norm != nullptr ? norm->weight.size(0) : 0, 0};
}

}  // namespace

bool is_module_kind(std::string_view kind) {
  return std::ranges::find(kReaders, kind, &std::pair<std::string_view, ReadModule>::first) != kReaders.end();
}

SentenceModule read_module(const fs::path& directory, const ListedModule& listed) {
  const auto reader = std::ranges::find(kReaders, listed.kind, &std::pair<std::string_view, ReadModule>::first);
  require(reader != kReaders.end(), listed.where, ": no kind of module is called ", Quoted(listed.kind));
  return reader->second(directory, listed);
}

void write_module(const fs::path& folder, const SentenceModule& module) {
  std::visit([&](const auto& its_kind) { write(folder, its_kind); }, module);
}

std::int64_t width_behind(const SentenceModule& module, std::int64_t width, std::string_view where) {
  const auto [takes, gives] = widths(module);
  if (takes != 0 && takes != width) {
    fail(ErrorKind::kFormat, where, ": the ", kind_name(module), " takes vectors of ", takes,
         " numbers, but what stands before it gives ", width);
  }
  const auto* pooling = std::get_if<PoolingModule>(&module);
  return pooling != nullptr ? width * static_cast<std::int64_t>(pooling->modes.size()) : gives == 0 ? width : gives;
}

}  // namespace weft::checkpoint
