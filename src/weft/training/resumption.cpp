// SPDX-License-Identifier: Apache-2.0
// Field by field.
#include "weft/training/resumption.h"

#include <algorithm>
#include <array>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/json_members.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/schedule.h"

namespace weft::training {
namespace {

constexpr std::array<std::string_view, 11> kChangeable = {"threads",
                                                          "device",
                                                          "tf32",
                                                          "steps",
                                                          "minutes",
                                                          "log_every",
                                                          "eval_every",
                                                          "checkpoint_every",
                                                          "checkpoint_minutes",
                                                          "keep_checkpoints",
                                                          "early_stopping"};

// Of training, before the checkpoint.
double seconds_behind(const Checkpoint& from) { return formats::value_or(from.state, "seconds", from.where(), 0.0); }

// The rate that the first step from `from` on learns with.
double next_rate(const TrainerConfig& config, const Checkpoint& from) {
  if (config.steps > 0) {
    const auto steps = static_cast<double>(config.steps);
    const auto step = static_cast<double>(from.step);
    return learning_rate(config, {step / steps, (step + 1) / steps});
  }
  const double part = seconds_behind(from) / (60.0 * config.minutes);
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

void require_all_taken(const formats::Json& rest) {
  require(rest.empty(), "no field of this task is called '", rest.empty() ? "" : rest.begin().key(), "'");
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
          ", the steps that this run has done, found ", now.steps);
  const double seconds = seconds_behind(from);
  require(now.steps > 0 || 60.0 * now.minutes >= seconds, "minutes must be at least ", seconds / 60.0,
          ", the minutes that this run has trained, found ", now.minutes);
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
  check_same(formats::to_json(stands), formats::to_json(resolved(merged)), kChangeable, where);
  if (merged.steps > 0 && merged.minutes > 0) {
    const char* const had = stands.steps > 0 ? "steps" : "minutes";
    throw Error(ErrorKind::kArgument,
                concat(stands.steps > 0 ? "minutes" : "steps", ": the length of this run is given in ", had, " (",
                       quote(where.native(), 4096), " has ", length_text(stands), ")"),
                concat("make it longer with --", had, " N"));
  }
  check_config(merged, quote(where.native(), 4096));
  return resolved(merged);
}

}  // namespace weft::training
