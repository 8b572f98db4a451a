// SPDX-License-Identifier: Apache-2.0
// Field by field.
#include "weft/training/resumption.h"

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/training/processes/process_group.h"

namespace weft::training {
namespace {

// The data themselves are compared, so that files may have moved.
constexpr std::array<std::string_view, 9> kChangeable = {"train_text",       "eval_text",          "threads",
                                                         "log_every",        "eval_every",         "max_eval_bytes",
                                                         "checkpoint_every", "checkpoint_minutes", "keep_checkpoints"};

}  // namespace

void check_same(const formats::Json& stands, const formats::Json& given, std::span<const std::string_view> changeable,
                const std::filesystem::path& where) {
  for (const auto& [name, value] : stands.items()) {
    const bool may_change = std::find(changeable.begin(), changeable.end(), name) != changeable.end();
    if (!may_change && given.at(name) != value) {
      throw Error(
          ErrorKind::kArgument,
          concat(where, ": ", name, " is ", value.dump(), " in this run, and ", given.at(name).dump(), " was given"),
          "leave it out to go on with the run, or begin a new one");
    }
  }
}

RunDirectory open_to_resume(const std::filesystem::path& run) {
  return processes().is_first() ? RunDirectory::open(run) : RunDirectory::open_beside(run);
}

TrainerConfig resumed_trainer(const TrainerConfig& stands, formats::Json& given, const std::filesystem::path& where) {
  TrainerConfig merged = stands;
  formats::update_from_json(merged, take_fields<TrainerConfig>(given), "training");
  check_same(formats::to_json(stands), formats::to_json(settled(merged)), kChangeable, where);
  return settled(merged);
}

}  // namespace weft::training
