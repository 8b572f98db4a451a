// SPDX-License-Identifier: Apache-2.0
// Holding a resumed run to the fields it began with: a setting that is given again must say what the run says.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/training/run_directory.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

/// The part of `given` whose names are fields of `Config`, removed from `given`.
template <typename Config>
formats::Json take_fields(formats::Json& given) {
  formats::Json taken = formats::only_fields_of<Config>(given);
  for (const auto& [name, value] : taken.items()) {
    given.erase(name);
  }
  return taken;
}

/// Throws kArgument where a field of `given` that is not among `changeable` differs from what `stands` in the file
/// `where`: another value would make a run that no one could repeat.
void check_same(const formats::Json& stands, const formats::Json& given, std::span<const std::string_view> changeable,
                const std::filesystem::path& where);

/// The settings `Config` of a run, of which those that `given` names leave `given`. Resolved by the function of that
/// name beside Config. Errors: as check_same.
template <typename Config>
Config resumed_settings(const formats::Json& stands, formats::Json& given, std::span<const std::string_view> changeable,
                        const std::filesystem::path& where) {
  Config config;
  formats::update_from_json(config, formats::only_fields_of<Config>(stands), quote(where.native(), 4096));
  Config merged = config;
  formats::update_from_json(merged, take_fields<Config>(given), "training");
  merged = resolved(merged);
  check_same(formats::to_json(config), formats::to_json(merged), changeable, where);
  return merged;
}

/// Errors: kArgument naming the first field of `rest`, what is left of what was given once all settings were taken.
void require_all_taken(const formats::Json& rest);

/// The run to go on with: the first process holds it, the others read beside it. Errors: as RunDirectory::open.
RunDirectory open_to_resume(const std::filesystem::path& run);

/// The newest checkpoint that is whole, whose files have the digests of its manifest. Errors: as RunDirectory::latest
/// and verify().
Checkpoint checkpoint_to_resume(const RunDirectory& run);

/// A run that goes on to another length than it had.
struct LengthChange {
  std::string text;      ///< one line: both lengths, and what follows for the learning rate
  formats::Json record;  ///< for the run's metrics: {"steps" or "minutes": {"from", "to"}}
};

/// What changes when a run of length `before` goes on from a checkpoint by `now`; nothing when the lengths are equal.
/// Errors: kArgument when the checkpoint is behind the new end.
std::optional<LengthChange> length_change(const TrainerConfig& before, const TrainerConfig& now,
                                          const Checkpoint& from);

/// The trainer's settings of a run with those laid over that `given` names, which leave `given`; resolved. Threads, the
/// length, when to stop early, and how often is logged, evaluated and saved may change. Errors: as
/// check_same and check_config.
TrainerConfig resumed_trainer(const TrainerConfig& stands, formats::Json& given, const std::filesystem::path& where);

}  // namespace weft::training
