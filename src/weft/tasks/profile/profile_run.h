// SPDX-License-Identifier: Apache-2.0
// One pass over the units of a profile: sums, a file now and then from which a stopped run goes on, and the profile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <torch/nn/module.h>

#include "weft/profile/attention_profile.h"
#include "weft/tasks/profile/profile_units.h"

namespace weft::tasks {

struct ProfileRunOptions {
  std::filesystem::path out;       ///< while it runs, `out`.partial has what was done so far
  profile::ModelOrigin model;      ///< of which the dtype is computed in
  std::int64_t tile = 64;          ///< positions on each side of a tile
  std::int64_t edge_limit = 1024;  ///< edges are summed where no text is longer
  std::int64_t shard = 0;          ///< runs every unit u with u % shards == shard
  std::int64_t shards = 1;
  bool resume = false;                ///< go on behind what `out`.partial has, where it is there
  std::int64_t seconds_a_save = 600;  ///< between two writings of it
};

/// The file of a run that has not ended.
std::filesystem::path partial_path(const std::filesystem::path& out);

/// Runs `model` in evaluation mode, writes the profile and gives it; progress is on stderr. Nothing in it depends on
/// shards, once merged, or on where a run was stopped. Errors: kArgument where `resume` meets a file of another model,
/// other texts or other settings; kInterrupted after Ctrl-C, once what was done is saved; those of the units and of
/// ModelProfile.
profile::AttentionProfile run_profile(torch::nn::Module& model, ProfileUnits& units, const ProfileRunOptions& options);

}  // namespace weft::tasks
