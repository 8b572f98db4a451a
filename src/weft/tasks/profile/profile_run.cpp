// SPDX-License-Identifier: Apache-2.0
// Units that a stopped run has done are read again, for their digest, and not run.
#include "weft/tasks/profile/profile_run.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/interrupt.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/layers/attention/watched.h"
#include "weft/tasks/profile/model_profile.h"
#include "weft/training/evaluation/evaluation_mode.h"
#include "weft/training/precision.h"

namespace weft::tasks {
namespace {

using Clock = std::chrono::steady_clock;

class ProfileRun {
 public:
  ProfileRun(torch::nn::Module& model, ProfileUnits& units, const ProfileRunOptions& options)
      : model_(model),
        units_(units),
        options_(options),
        sums_(model, {.tile = options.tile, .edge_limit = options.edge_limit}) {
    profile_.model = options.model;
    profile_.progress.shard = options.shard;
    profile_.progress.shards = options.shards;
    profile_.tile = options.tile;
    profile_.edge_limit = options.edge_limit;
  }

  profile::AttentionProfile run() {
    if (options_.resume && std::filesystem::exists(partial_path(options_.out))) {
      take_over(profile::read_profile(partial_path(options_.out)));
    }
    run_units();
    profile_.progress.complete = true;
    save(options_.out);
    std::error_code not_there;
    std::filesystem::remove(partial_path(options_.out), not_there);
    return std::move(profile_);
  }

 private:
  void take_over(profile::AttentionProfile done) {
    const std::string where = quote(partial_path(options_.out).string(), 4096);
    const auto require_same = [&](bool is_same, const char* what) {
      if (!is_same) {
        throw Error(ErrorKind::kArgument, concat(where, " was begun with ", what),
                    concat("leave ", option("resume"), " out to begin anew, or give what it was begun with"));
      }
    };
    require_same(done.model.digest == options_.model.digest && done.model.dtype == options_.model.dtype,
                 "another model or dtype");
    require_same(done.tile == options_.tile && done.edge_limit == options_.edge_limit &&
                     done.progress.shard == options_.shard && done.progress.shards == options_.shards,
                 "other tiles, edges or shards");
    bool is_same = done.parts.size() == sums_.parts().size();
    for (std::size_t part = 0; is_same && part < done.parts.size(); ++part) {
      is_same = done.parts[part].site.name == sums_.parts()[part].site.name &&
                done.parts[part].site.expression == sums_.parts()[part].site.expression;
    }
    require_same(is_same, "other attention");
    sums_.parts() = std::move(done.parts);
    profile_.data = done.data;
    skip_ = done.progress.units;
    digest_of_skipped_ = std::exchange(profile_.data.digest, "");
  }

  void run_units() {
    const at::NoGradGuard no_gradient;
    const training::EvaluationMode mode(model_);
    const training::AutocastGuard autocast(options_.model.dtype);
    const layers::WatchScope watch(model_, sums_);
    const InterruptGuard guard;
    ProgressBar bar("profiling", units_.share() < 0.0 ? 0.0 : 1.0);  // 0: nobody knows how much there is
    Clock::time_point saved = Clock::now();
    std::int64_t& unit = profile_.progress.units;
    while (units_.next(digest_)) {
      if (unit >= skip_ && unit % options_.shards == options_.shard) {
        const UnitCounts counts = units_.run();
        profile_.data.texts += counts.texts;
        profile_.data.tokens += counts.tokens;
      }
      ++unit;
      if (unit == skip_) {
        check_skipped();
      }
      bar.update(std::max(0.0, units_.share()), concat(profile_.data.tokens, " tokens"));
      const bool stops = interrupted();
      if (unit >= skip_ && (stops || Clock::now() - saved > std::chrono::seconds(options_.seconds_a_save))) {
        save(partial_path(options_.out));
        saved = Clock::now();
      }
      if (stops) {
        throw Error(ErrorKind::kInterrupted, concat("stopped after ", profile_.data.tokens, " tokens"),
                    concat(option("resume"), " goes on from ", quote(partial_path(options_.out).string(), 4096)));
      }
    }
    if (unit < skip_) {
      fail_on_texts();
    }
  }

  void check_skipped() const {
    if (formats::hexadecimal(digest_.digest()) != digest_of_skipped_) {
      fail_on_texts();
    }
  }

  [[noreturn]] void fail_on_texts() const {
    throw Error(ErrorKind::kArgument,
                concat(quote(partial_path(options_.out).string(), 4096),
                       " was begun with other texts, or with other lengths or batches of them"),
                concat("leave ", option("resume"), " out to begin anew, or give what it was begun with"));
  }

  void save(const std::filesystem::path& path) {
    profile_.data.digest = formats::hexadecimal(digest_.digest());
    std::swap(profile_.parts, sums_.parts());
    profile::write_profile(path, profile_);
    if (!profile_.progress.complete) {
      std::swap(profile_.parts, sums_.parts());
    }
  }

  torch::nn::Module& model_;
  ProfileUnits& units_;
  const ProfileRunOptions& options_;
  ModelProfile sums_;
  profile::AttentionProfile profile_;
  formats::Sha256 digest_;
  std::int64_t skip_ = 0;  // units that a run before has done
  std::string digest_of_skipped_;
};

}  // namespace

std::filesystem::path partial_path(const std::filesystem::path& out) {
  std::filesystem::path partial = out;
  partial += ".partial";
  return partial;
}

profile::AttentionProfile run_profile(torch::nn::Module& model, ProfileUnits& units, const ProfileRunOptions& options) {
  require(options.shards >= 1 && options.shard >= 0 && options.shard < options.shards, "profile: shard ", options.shard,
          " of ", options.shards, " is not there; shards count from 0");
  return ProfileRun(model, units, options).run();
}

}  // namespace weft::tasks
