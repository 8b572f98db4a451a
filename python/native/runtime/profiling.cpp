// SPDX-License-Identifier: Apache-2.0
// Where the attention of a model goes, and short patterns that hold it, as `weft profile` and `weft propose` find them:
// the same calls of the library, the same files, and the JSON that the commands print.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <ATen/Parallel.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "open/task_call.h"
#include "python_call.h"
#include "weft/checkpoint/open_model.h"
#include "weft/cli/front/bench/calibration_file.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/core/work/watched_progress.h"
#include "weft/hub/models.h"
#include "weft/profile/attention_profile.h"
#include "weft/profile/model_digest.h"
#include "weft/profile/profile_figure.h"
#include "weft/profile/profile_summary.h"
#include "weft/profile/propose/proposal_file.h"
#include "weft/runs/evaluate/held_out.h"
#include "weft/tasks/profile/profile_input.h"
#include "weft/tasks/profile/profile_run.h"
#include "weft/training/run/run_of_model.h"

namespace weft::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using formats::Json;

// What `weft profile` takes besides tasks::ProfileTexts.
struct ProfileFields {
  std::vector<std::string> merge;
  std::string out;
  std::string svg;
  std::string png;
  std::int64_t tile = 64;
  std::int64_t edges = 1024;
  std::string dtype = "run";
  std::string shard = "0/1";
  bool resume = false;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ProfileFields;
    visit(Field{"merge", &C::merge, "files of shards, which are joined into one"});
    visit(Field{"out", &C::out, "file to write"});
    visit(Field{"svg", &C::svg, "SVG file to draw"});
    visit(Field{"png", &C::png, "PNG file to draw"});
    visit(Field{"tile", &C::tile, "positions on each side of a tile"}.range(1, 1 << 16));
    visit(Field{"edges", &C::edges, "tokens of the longest text whose edges are summed"}.range(0, 1 << 14));
    visit(Field{"dtype", &C::dtype, "number format of matrix products"}.one_of({"run", "float32", "bfloat16"}));
    visit(Field{"shard", &C::shard, "which part of the texts, of how many"});
    visit(Field{"resume", &C::resume, "go on with what was stopped"});
  }
};

// What `weft propose` takes besides profile::ProposeSettings.
struct ProposeFields {
  std::string out;
  std::string model;
  std::string rates;
  std::vector<std::string> held_out;
  std::int64_t max_bytes = 0;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ProposeFields;
    visit(Field{"out", &C::out, "JSON file to write"});
    visit(Field{"model", &C::model, "directory of the model"});
    visit(Field{"rates", &C::rates, "file of `weft bench calibrate`"});
    visit(Field{"held_out", &C::held_out, "files and folders of text to compare losses on"});
    visit(Field{"max_bytes", &C::max_bytes, "bytes of it to read; 0 for all"}.at_least(0));
  }
};

TaskCall call_by_settings(const char* task, const std::string& settings) {
  TaskCall call;
  call.task = task;
  call.given = formats::parse_json(settings, "settings");
  return call;
}

// As the commands print it: bytes that are no UTF-8 become U+FFFD.
std::string printed_as_command(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// "2/4" as {2, 4}.
std::pair<std::int64_t, std::int64_t> parsed_shard(const std::string& text) {
  constexpr std::int64_t kMostShards = 65536;
  std::int64_t shard = -1;
  std::int64_t shards = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result first = std::from_chars(text.data(), end, shard);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '/') {
    const std::from_chars_result second = std::from_chars(first.ptr + 1, end, shards);
    if (second.ec == std::errc() && second.ptr == end && shard >= 0 && shard < shards && shards <= kMostShards) {
      return {shard, shards};
    }
  }
  throw Error(ErrorKind::kArgument, concat("profile: shard must be I/N with I below N, found ", quote(text)),
              "four processes run 0/4, 1/4, 2/4 and 3/4");
}

profile::AttentionProfile joined_shards(const ProfileFields& asked) {
  std::vector<profile::AttentionProfile> shards;
  std::vector<std::string> names;
  shards.reserve(asked.merge.size());
  names.reserve(asked.merge.size());
  for (const std::string& path : asked.merge) {
    shards.push_back(profile::read_profile(path));
    names.push_back(quote(path, 4096));
  }
  profile::AttentionProfile joined = profile::merge_profiles(std::move(shards), names);
  profile::write_profile(asked.out, joined);
  return joined;
}

profile::AttentionProfile profile_of_model(const std::string& model, const tasks::ProfileTexts& texts,
                                           const ProfileFields& asked) {
  tasks::ProfileRunOptions options;
  std::tie(options.shard, options.shards) = parsed_shard(asked.shard);
  const std::string directory = hub::local_model(model).string();
  const checkpoint::OpenedModel opened = checkpoint::open_model(directory);
  const tasks::ProfileInput input = tasks::open_profile_input(opened, texts);
  options.out = asked.out;
  options.model = {directory, input.kind, profile::model_digest(opened.path()),
                   training::dtype_of_model(asked.dtype, opened.path())};
  options.tile = asked.tile;
  options.edge_limit = asked.edges;
  options.resume = asked.resume;
  return tasks::run_profile(*input.model, *input.units, options);
}

// Files of shards are joined as they are.
void check_merging(const std::string& model, const TaskCall& call) {
  const std::size_t files = call.given.contains("svg") + call.given.contains("png") + std::size_t{2};
  require(model.empty() && call.given.size() == files, call.task,
          ": merge joins finished shards, and takes out, svg and png only");
}

Json profile_summary(const std::string& model, const TaskCall& call) {
  tasks::ProfileTexts texts;
  ProfileFields asked;
  read_given(call, texts, asked);
  require(!asked.out.empty(), call.task, ": out names no file");
  if (asked.merge.empty()) {
    require(!model.empty(), call.task, " needs the directory of a model, or merge and the files of shards");
  } else {
    check_merging(model, call);
  }
  const auto start = std::chrono::steady_clock::now();
  const profile::AttentionProfile found =
      asked.merge.empty() ? profile_of_model(model, texts, asked) : joined_shards(asked);
  if (!asked.svg.empty()) {
    write_file_atomically(asked.svg, inspect::svg_heat(profile::profile_figure(found)));
  }
  if (!asked.png.empty()) {
    write_file_atomically(asked.png, inspect::png_heat(profile::profile_figure(found)));
  }
  Json summary = {{"out", asked.out}};
  summary.update(profile::summary_json(found));
  summary["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

// Of texts as long as those that the time is predicted for.
Json losses_by_proposal(const Json& proposal, const std::vector<profile::LayerProposal>& layers,
                        const ProposeFields& asked, const std::filesystem::path& model) {
  WatchedProgress progress("scoring", "tokens");
  runs::HeldOutComparison comparison;
  comparison.model = model;
  comparison.attention = proposal.value("attention", std::vector<std::string>{});
  comparison.text = asked.held_out;
  comparison.context = layers.front().base->site().query_length;
  comparison.max_bytes = asked.max_bytes;
  comparison.progress = progress.callback();
  return runs::compare_held_out(comparison);
}

Json proposal_by_profile(const std::string& file, const TaskCall& call) {
  profile::ProposeSettings settings;
  ProposeFields asked;
  read_given(call, settings, asked);
  require(settings.rewire || settings.gap == 0, call.task, ": gap goes with rewire");
  const profile::LayoutCost cost(cli::find_rates(asked.rates, at::get_num_threads()));
  std::optional<BusyBar> bar("fitting patterns");
  const profile::AttentionProfile found = profile::read_profile(file);
  const std::filesystem::path model = asked.model.empty() ? found.model.path : asked.model;
  const std::vector<profile::LayerProposal> layers =
      profile::propose(found, settings, cost, std::filesystem::is_directory(model) ? model : std::filesystem::path());
  Json proposal = profile::proposal_json(found, layers, settings, cost.is_seconds());
  bar.reset();
  proposal["held_out"] = asked.held_out.empty() ? Json(nullptr) : losses_by_proposal(proposal, layers, asked, model);
  if (!asked.out.empty()) {
    profile::write_proposal(asked.out, proposal, found, model);
  }
  return proposal;
}

std::string profile_as_asked(const std::string& model, const std::string& settings) {
  const TaskCall call = call_by_settings("profile", settings);
  return compute([&] { return printed_as_command(profile_summary(model, call)); });
}

std::string propose_as_asked(const std::string& file, const std::string& settings) {
  const TaskCall call = call_by_settings("propose", settings);
  return compute([&] { return printed_as_command(proposal_by_profile(file, call)); });
}

}  // namespace

void bind_profiling(nb::module_& module) {
  module.def("profile", profile_as_asked, "model"_a, "settings"_a);
  module.def("propose", propose_as_asked, "profile"_a, "settings"_a);
}

}  // namespace weft::python
