// SPDX-License-Identifier: Apache-2.0
// One tensor at a time: memory is that of one model, however many there are.
#include "weft/checkpoint/average.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "weft/checkpoint/attention_files.h"
#include "weft/checkpoint/open_model.h"
#include "weft/checkpoint/sentence/mean_modules.h"
#include "weft/checkpoint/tensors.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/version.h"
#include "weft/formats/config_json.h"

namespace weft::checkpoint {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::unique_ptr<formats::TensorFile>>;

std::string quoted_path(const fs::path& path) { return quote(path.native(), 4096); }

// What a run and a checkpoint keep beside the model.
bool belongs_to_model(const fs::path& name) {
  const std::string file = name.filename().string();
  constexpr std::array<std::string_view, 5> kOfRuns = {"training.json", "state.json", "metrics.jsonl", "best.json",
                                                       "evaluation.json"};
  const bool weights = file.ends_with(".safetensors") || file.ends_with(".safetensors.index.json") ||
                       file.ends_with(".bin") || file.ends_with(".bin.index.json") || file.ends_with(".pt");
  const bool of_run = std::find(kOfRuns.begin(), kOfRuns.end(), file) != kOfRuns.end() ||
                      file.starts_with("events.out") || file.starts_with('.') || file.ends_with(".html");
  return !weights && !of_run;
}

// A config without what says who wrote it, and where.
formats::Json config_of(const fs::path& directory) {
  formats::Json config = formats::read_json(ModelFile(directory, "config.json"));
  for (const char* name : {"weft_version", "transformers_version", "_name_or_path"}) {
    config.erase(name);
  }
  return config;
}

void check_configs(std::span<const fs::path> directories) {
  const formats::Json first = config_of(directories.front());
  for (const fs::path& other : directories.subspan(1)) {
    const formats::Json config = config_of(other);
    formats::Json all = first;
    all.update(config);
    for (const auto& [name, value] : all.items()) {
      require(
          config.contains(name) && first.contains(name) && config[name] == first[name],
          "only models of one config have a mean, but ", Quoted(name), " in ", [&] { return quoted_path(other); },
          " is not that of ", [&] { return quoted_path(directories.front()); });
    }
  }
}

const formats::TensorInfo& same_tensor(const formats::TensorFile& file, const formats::TensorInfo& first) {
  const formats::TensorInfo* found = file.find(first.name);
  require(
      found != nullptr && found->shape == first.shape, "only models of one shape have a mean, but ",
      [&] { return quoted_path(file.path()); }, found == nullptr ? " lacks " : " has another shape of ",
      Quoted(first.name));
  return *found;
}

at::Tensor mean_of(const Files& files, const formats::TensorInfo& info) {
  const at::Tensor first = read_tensor(*files.front(), info);
  at::Tensor sum = first.is_floating_point() ? first.to(at::kDouble) : first;
  for (std::size_t i = 1; i < files.size(); ++i) {
    const at::Tensor next = read_tensor(*files[i], same_tensor(*files[i], info));
    // The mean of two draws is no draw: features of such rows would be those of keys nearer to 0.
    require(
        !info.name.ends_with("attention.mechanism.projection") || next.equal(first),
        "only models with the same random features have a mean, but ", Quoted(info.name), " of ",
        [&] { return quoted_path(files[i]->path()); }, " was drawn anew");
    if (first.is_floating_point()) {
      sum.add_(next);
    } else {
      require(
          next.equal(first), "only models with equal ", Quoted(info.name), " have a mean, but that of ",
          [&] { return quoted_path(files[i]->path()); }, " differs");
    }
  }
  return first.is_floating_point() ? sum.div_(static_cast<double>(files.size())).to(first.scalar_type()) : first;
}

// The graphs that expressions of the config name: they may lie in folders below it.
void write_graphs(const fs::path& directory, const fs::path& out) {
  for (const pattern::PatternFile& file :
       named_graphs(formats::read_json(ModelFile(directory, "config.json")), directory)) {
    fs::create_directories((out / file.name).parent_path());
    write_file_atomically(out / file.name, file.content);
  }
}

}  // namespace

void average_models(std::span<const fs::path> given, const fs::path& out) {
  require(!given.empty(), "a mean needs at least one model");
  require(!fs::exists(out), [&] { return quoted_path(out); }, " exists: the mean is written to a new directory");
  std::vector<fs::path> directories;
  for (const fs::path& directory : given) {
    const OpenedModel opened = open_model(directory);  // its error says what a model is
    opened.need_floating("a mean");
    directories.push_back(opened.path());
  }
  const std::optional<SentenceDirectory> modules = mean_of_modules(given);
  check_configs(directories);
  Files files;
  for (const fs::path& directory : directories) {
    files.push_back(formats::open_tensor_directory(directory));
    require(
        files.back()->tensors().size() == files.front()->tensors().size(), "only models of one shape have a mean, but ",
        [&] { return quoted_path(directory); }, " has ", files.back()->tensors().size(), " tensors and ",
        [&] { return quoted_path(directories.front()); }, " has ", files.front()->tensors().size());
  }
  NamedTensors means;
  for (const formats::TensorInfo& info : files.front()->tensors()) {
    means.emplace_back(info.name, mean_of(files, info));
  }
  write_directory_atomically(out, [&](const fs::path& fresh) {
    for (const fs::directory_entry& entry : fs::directory_iterator(directories.front())) {
      const ModelFile file(directories.front(), entry.path().filename());
      if (entry.is_regular_file() && belongs_to_model(file.path())) {
        write_file_atomically(fresh / entry.path().filename(), read_file(file));
      }
    }
    write_graphs(directories.front(), fresh);
    save_tensors(fresh / "model.safetensors", means, {{"format", "pt"}, {"weft_version", std::string(kVersion)}});
    if (modules) {
      write_sentence_directory(fresh, *modules);
    }
  });
}

}  // namespace weft::checkpoint
