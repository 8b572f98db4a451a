// SPDX-License-Identifier: Apache-2.0
// Settings are those of training.json: a task that gets a new one need not be known here.
#include "weft/training/run/shared_terms.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/disk/digest.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/readers/file_list.h"
#include "weft/training/run/training_files.h"

namespace weft::training {
namespace {

using formats::Json;

constexpr std::array<std::string_view, 6> kHeldOut = {"eval_text", "eval_images", "eval_audio",
                                                      "eval_data", "eval_source", "eval_target"};

// Where things lie: what lies there is compared itself, and the teacher by its digest.
constexpr std::array<std::string_view, 9> kPlaces = {"train_text",   "train_images", "train_audio",
                                                     "train_data",   "model",        "train_source",
                                                     "train_target", "alignments",   "distill"};

// What changes no step, and what resumption.h and its kin let a run change.
constexpr std::array<std::string_view, 16> kHabits = {"steps",
                                                      "minutes",
                                                      "log_every",
                                                      "eval_every",
                                                      "checkpoint_every",
                                                      "keep_checkpoints",
                                                      "early_stopping",
                                                      "checkpoint_minutes",
                                                      "max_eval_bytes",
                                                      "epochs",
                                                      "on_error",
                                                      "tf32",
                                                      "generated_examples",
                                                      "eval_beams",
                                                      "weft_version",
                                                      "torch_version"};

template <std::size_t Count>
bool is_among(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// One digest of the files' contents, in their order.
std::string content_of(const std::vector<std::string>& paths) {
  std::string digests;
  for (const std::filesystem::path& file : readers::list_files(paths)) {
    digests += digest_of_file(named_by_user(file));
  }
  return digest_of(digests);
}

std::string shape_text(const at::Tensor& tensor) {
  std::string text;
  for (const std::int64_t size : tensor.sizes()) {
    text += concat(text.empty() ? "" : " x ", size);
  }
  return text.empty() ? "one number" : text;
}

}  // namespace

bool is_shared_setting(std::string_view name) {
  return name != "threads" && name != "device" && !is_among(kPlaces, name) && !is_among(kHeldOut, name);
}

Json shared_terms(const Json& training, const Task& task) {
  Json terms = Json::object();
  for (const auto& [name, value] : training.items()) {
    if (is_shared_setting(name)) {
      terms[name] = value;
    } else if (const std::vector<std::string> files = is_among(kHeldOut, name) ? paths_in(value) : paths_in({});
               !files.empty()) {
      terms[concat("the content of ", name)] = content_of(files);
    }
  }
  const Json data = task.data_identity();
  for (const auto& [name, value] : data.items()) {
    terms[concat("training data (", name, ")")] = value;
  }
  for (const auto& [name, parameter] : task.parameters()) {
    terms[concat("weights ", quote(name), " of shape")] = shape_text(parameter);
  }
  return terms;
}

Json lasting_settings(const Json& training) {
  Json lasting = Json::object();
  for (const auto& [name, value] : training.items()) {
    if (is_shared_setting(name) && !is_among(kHabits, name)) {
      lasting[name] = value;
    }
  }
  return lasting;
}

void check_lasting(const Json& recorded, const Json& now, const std::filesystem::path& where) {
  for (const auto& [name, value] : recorded.items()) {
    const bool there = now.contains(name);
    if (there && now.at(name) != value) {
      throw Error(ErrorKind::kArgument,
                  concat(quote(where.native(), 4096), ": ", name, " was ", value.dump(),
                         " when this checkpoint was written, and training.json of the run has ", now.at(name).dump()),
                  "put training.json back as it was: another value would make a run that no one could repeat");
    }
  }
}

}  // namespace weft::training
