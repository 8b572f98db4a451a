// SPDX-License-Identifier: Apache-2.0
// What is asked for is checked before a model is opened.
#include "weft/runs/profile/profile.h"

#include <chrono>
#include <tuple>
#include <utility>

#include "weft/checkpoint/open_model.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/formats/field_conditions.h"
#include "weft/profile/attention_profile.h"
#include "weft/profile/model_digest.h"
#include "weft/profile/profile_figure.h"
#include "weft/profile/profile_summary.h"
#include "weft/tasks/profile/profile_input.h"
#include "weft/tasks/profile/profile_run.h"
#include "weft/training/run/run_of_model.h"

namespace weft::runs {
namespace {

using formats::Json;

// "2/4" as {2, 4}.
std::pair<std::int64_t, std::int64_t> shard_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto number = [&](const std::string& digits) {
    constexpr std::size_t kMostDigits = 5;
    const bool is_number =
        !digits.empty() && digits.size() <= kMostDigits && digits.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? std::stoll(digits) : -1;
  };
  const std::int64_t shard = slash == std::string::npos ? -1 : number(text.substr(0, slash));
  const std::int64_t shards = slash == std::string::npos ? -1 : number(text.substr(slash + 1));
  if (shard < 0 || shards < 1 || shard >= shards) {
    throw UsageError(concat(option("shard"), " must be I/N with I below N, found ", quote(text)),
                     "four processes run 0/4, 1/4, 2/4 and 3/4");
  }
  return {shard, shards};
}

// Files of shards are joined as they are.
void check_merging(const ProfileRequest& request) {
  const Json& given = request.given;
  const std::size_t files = given.contains("out") + given.contains("svg") + std::size_t{given.contains("png")};
  if (!request.model.empty() || given.size() > files) {
    throw UsageError(concat(option("merge"), " joins finished shards, and takes ", option("out"), ", ", option("svg"),
                            " and ", option("png"), " only"),
                     "for example: weft profile --merge shard-0.safetensors shard-1.safetensors --out all.safetensors");
  }
}

profile::AttentionProfile joined(const ProfileRequest& request, const ProfileConfig& config) {
  std::vector<profile::AttentionProfile> shards;
  std::vector<std::string> names;
  shards.reserve(request.merge.size());
  names.reserve(request.merge.size());
  for (const std::string& path : request.merge) {
    shards.push_back(profile::read_profile(path));
    names.push_back(quote(path, 4096));
  }
  profile::AttentionProfile merged = profile::merge_profiles(std::move(shards), names);
  profile::write_profile(config.out, merged);
  return merged;
}

profile::AttentionProfile of_model(const ProfileRequest& request, const ProfileConfig& config,
                                   const tasks::ProfileTexts& texts) {
  tasks::ProfileRunOptions options;
  std::tie(options.shard, options.shards) = shard_of(config.shard);
  const checkpoint::OpenedModel opened = checkpoint::open_model(request.model);
  const tasks::ProfileInput input = tasks::open_profile_input(opened, texts);
  options.out = config.out;
  options.model = {request.model, input.kind, profile::model_digest(opened.path()),
                   training::dtype_of_model(config.dtype, opened.path())};
  options.tile = config.tile;
  options.edge_limit = config.edges;
  options.resume = config.resume;
  return tasks::run_profile(*input.model, *input.units, options);
}

}  // namespace

Json profile(const ProfileRequest& request) {
  ProfileConfig config;
  tasks::ProfileTexts texts;
  formats::update_each_from_json(request.given, request.asker, config, texts);
  formats::check_given_conditions<tasks::ProfileTexts>(request.given, formats::to_json(texts), request.asker);
  if (config.out.empty()) {
    throw UsageError(concat(request.asker, " needs ", option("out"), " FILE"),
                     "for example: weft profile run --text books --out profile.safetensors");
  }
  if (!request.merge.empty()) {
    check_merging(request);
  } else if (request.model.empty()) {
    throw UsageError(
        concat(request.asker, " needs the directory of a model, or ", option("merge"), " and the files of shards"),
        "for example: weft profile run --text books --out profile.safetensors");
  }
  const auto start = std::chrono::steady_clock::now();
  const profile::AttentionProfile found =
      request.merge.empty() ? of_model(request, config, texts) : joined(request, config);
  if (!config.svg.empty()) {
    write_file_atomically(config.svg, inspect::svg_heat(profile::profile_figure(found)));
  }
  if (!config.png.empty()) {
    write_file_atomically(config.png, inspect::png_heat(profile::profile_figure(found)));
  }
  Json summary = {{"out", config.out}};
  summary.update(profile::summary_json(found));
  summary["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

}  // namespace weft::runs
