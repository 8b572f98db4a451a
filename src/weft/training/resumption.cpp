// SPDX-License-Identifier: Apache-2.0
// Field by field.
#include "weft/training/resumption.h"

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/schedule.h"

namespace weft::training {
namespace {

// The data themselves are compared, so that files may have moved.
constexpr std::array<std::string_view, 12> kChangeable = {
    "train_text",       "eval_text",          "threads",          "steps",
    "minutes",          "log_every",          "eval_every",       "max_eval_bytes",
    "checkpoint_every", "checkpoint_minutes", "keep_checkpoints", "early_stopping"};

// The rate that the first step from `from` on learns with.
double next_rate(const TrainerConfig& config, const Checkpoint& from) {
  if (config.steps > 0) {
    const auto steps = static_cast<double>(config.steps);
    const auto step = static_cast<double>(from.step);
    return learning_rate(config, {step / steps, (step + 1) / steps});
  }
  const double part = from.state.value("seconds", 0.0) / (60.0 * config.minutes);
  return learning_rate(config, {part, part});
}

std::string length_text(const TrainerConfig& config) {
  return config.steps > 0 ? concat(config.steps, " steps") : concat(config.minutes, " minutes");
}

}  // namespace

void check_same(const formats::Json& stands, const formats::Json& given, std::span<const std::string_view> changeable,
                const std::filesystem::path& where) {
  for (const auto& [name, value] : stands.items()) {
    const bool may_change = std::find(changeable.begin(), changeable.end(), name) != changeable.end();
    if (!may_change && given.at(name) != value) {
      throw Error(ErrorKind::kArgument,
                  concat(quote(where.native(), 4096), ": ", name, " is ", value.dump(), " in this run, and ",
                         given.at(name).dump(), " was given"),
                  "leave it out to go on with the run, or begin a new one");
    }
  }
}

RunDirectory open_to_resume(const std::filesystem::path& run) {
  return processes().is_first() ? RunDirectory::open(run) : RunDirectory::open_beside(run);
}

Checkpoint checkpoint_to_resume(const RunDirectory& run) {
  Checkpoint checkpoint = run.latest();
  verify(checkpoint);
  return checkpoint;
}

std::optional<LengthChange> length_change(const TrainerConfig& before, const TrainerConfig& now,
                                          const Checkpoint& from) {
  if (before.steps == now.steps && before.minutes == now.minutes) {
    return std::nullopt;
  }
  require(now.steps == 0 || now.steps >= from.step, "steps must be at least ", from.step,
          ", which this run has behind it, found ", now.steps);
  const double seconds = from.state.value("seconds", 0.0);
  require(now.steps > 0 || 60.0 * now.minutes >= seconds, "minutes must be at least ", seconds / 60.0,
          ", which this run has behind it, found ", now.minutes);
  LengthChange change;
  change.text = concat("the run is now ", length_text(now), " long, and was to be ", length_text(before), ": ");
  if (now.steps == from.step && now.steps > 0) {
    change.text += "it has all of them";
  } else {
    change.text += concat("from step ", from.step + 1, " on the learning rate follows the ", now.schedule,
                          " schedule of the new length (", next_rate(now, from), " in step ", from.step + 1,
                          "); the steps before learned with the rates of the old one");
  }
  const char* name = now.steps > 0 ? "steps" : "minutes";
  const formats::Json was = formats::to_json(before);
  const formats::Json is = formats::to_json(now);
  change.record = {{name, {{"from", was[name]}, {"to", is[name]}}}};
  return change;
}

TrainerConfig resumed_trainer(const TrainerConfig& stands, formats::Json& given, const std::filesystem::path& where) {
  TrainerConfig merged = stands;
  formats::update_from_json(merged, take_fields<TrainerConfig>(given), "training");
  check_same(formats::to_json(stands), formats::to_json(settled(merged)), kChangeable, where);
  if (merged.steps > 0 && merged.minutes > 0) {
    const char* const had = stands.steps > 0 ? "steps" : "minutes";
    throw Error(ErrorKind::kArgument,
                concat(stands.steps > 0 ? "minutes" : "steps", ": the length of this run is given in ", had, " (",
                       quote(where.native(), 4096), " has ", length_text(stands), ")"),
                concat("make it longer with --", had, " N"));
  }
  check_config(merged, quote(where.native(), 4096));
  return settled(merged);
}

}  // namespace weft::training
