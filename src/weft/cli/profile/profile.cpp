// SPDX-License-Identifier: Apache-2.0
// `weft profile`: where the attention of a model goes over a set of texts, as a file that other commands read.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/threads.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/profile/attention_profile.h"
#include "weft/profile/model_digest.h"
#include "weft/profile/profile_figure.h"
#include "weft/profile/profile_summary.h"
#include "weft/tasks/profile/profile_input.h"
#include "weft/tasks/profile/profile_run.h"
#include "weft/training/run/run_of_model.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr const char* kProfileExamples =
    "  weft profile run --text books --out profile.safetensors --png heads.png\n"
    "  weft profile run --text books --memory 512 --max-bytes 1000000 --out profile.safetensors\n"
    "  weft profile bert --data reviews.tsv --text-field review --out profile.safetensors\n"
    "  weft profile de-en --source train.de --target train.en --out profile.safetensors --resume\n"
    "  weft profile run --text books --shard 0/2 --out shard-0.safetensors\n"
    "  weft profile --merge shard-0.safetensors shard-1.safetensors --out profile.safetensors";

struct ProfileConfig {
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
    using C = ProfileConfig;
    visit(Field{"out", &C::out, "file to write, in the format safetensors"});
    visit(Field{"svg", &C::svg, "draw the mean attention of each head into this SVG file, too"});
    visit(Field{"png", &C::png, "draw the mean attention of each head into this PNG file, too"});
    visit(Field{"tile", &C::tile, "positions on each side of a tile, whose sums show where long texts look"}.range(
        1, 1 << 16));
    visit(Field{"edges", &C::edges, "every edge is summed where no text is longer than so many tokens; 0 for no edges"}
              .range(0, 1 << 14));
    visit(Field{"dtype", &C::dtype,
                "number format of matrix products; run is what the run learned in, float32 for a model of no run"}
              .one_of({"run", "float32", "bfloat16"}));
    visit(Field{"shard", &C::shard,
                "which part of the texts this process runs, of how many: 0/4 to 3/4; --merge joins them"});
    visit(Field{"resume", &C::resume, "go on where a run with the same --out was stopped"});
  }
};

struct ProfileCommand {
  std::string run;
  std::vector<std::string> merge;
  Json texts = Json::object();
  Json given = Json::object();
  std::int64_t threads = 0;
  bool json = false;
};

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
    throw UsageError(concat("--shard must be I/N with I below N, found ", quote(text)),
                     "four processes run 0/4, 1/4, 2/4 and 3/4");
  }
  return {shard, shards};
}

std::string summary_text(const Json& summary) {
  Rows rows = {{"profile", summary["out"].get<std::string>()},
               {"texts", digits(summary["texts"].get<std::int64_t>())},
               {"tokens", digits(summary["tokens"].get<std::int64_t>())},
               {"dtype", summary["dtype"].get<std::string>()}};
  for (const Json& part : summary["parts"]) {
    std::string about;
    if (part.contains("reason")) {
      about = concat("no profile: ", part["reason"].get<std::string>());
    } else {
      about = concat(digits(part["rows"].get<std::int64_t>()), " rows, mean entropy ",
                     fixed(part["entropy"].get<double>(), 3), " nats, ", part["queries"].get<std::int64_t>(), " x ",
                     part["keys"].get<std::int64_t>(), part["edges"].get<bool>() ? ", edges" : "");
    }
    about += part.contains("note") ? concat("; ", part["note"].get<std::string>()) : std::string();
    rows.emplace_back(part["name"].get<std::string>(), about);
  }
  rows.emplace_back("seconds", fixed(summary["seconds"].get<double>(), 1));
  return name_table(rows);
}

profile::AttentionProfile merge(const ProfileCommand& command, const ProfileConfig& config) {
  const std::size_t files = command.given.contains("svg") + command.given.contains("png") + std::size_t{1};
  if (!command.run.empty() || !command.texts.empty() || command.given.size() > files) {
    throw UsageError("--merge joins finished shards, and takes --out, --svg and --png only",
                     "for example: weft profile --merge shard-0.safetensors shard-1.safetensors --out all.safetensors");
  }
  std::vector<profile::AttentionProfile> shards;
  std::vector<std::string> names;
  for (const std::string& path : command.merge) {
    shards.push_back(profile::read_profile(path));
    names.push_back(quote(path, 4096));
  }
  profile::AttentionProfile merged = profile::merge_profiles(std::move(shards), names);
  profile::write_profile(config.out, merged);
  return merged;
}

profile::AttentionProfile run(const ProfileCommand& command, const ProfileConfig& config) {
  if (command.run.empty()) {
    throw UsageError("weft profile needs the directory of a model, or --merge and the files of shards",
                     "for example: weft profile run --text books --out profile.safetensors");
  }
  tasks::ProfileRunOptions options;
  std::tie(options.shard, options.shards) = shard_of(config.shard);
  tasks::ProfileTexts texts;
  formats::update_from_json(texts, command.texts, "weft profile");
  apply_threads(command.threads);
  const checkpoint::OpenedModel opened = checkpoint::open_model(command.run);
  tasks::ProfileInput input = tasks::open_profile_input(opened, texts);
  options.out = config.out;
  options.model = {command.run, input.kind, profile::model_digest(opened.path()),
                   training::dtype_of_model(config.dtype, opened.path())};
  options.tile = config.tile;
  options.edge_limit = config.edges;
  options.resume = config.resume;
  return tasks::run_profile(*input.model, *input.units, options);
}

void run_profile_command(const ProfileCommand& command) {
  ProfileConfig config;
  formats::update_from_json(config, command.given, "weft profile");
  if (config.out.empty()) {
    throw UsageError("weft profile needs --out FILE", "for example: --out profile.safetensors");
  }
  const auto start = std::chrono::steady_clock::now();
  const profile::AttentionProfile found = command.merge.empty() ? run(command, config) : merge(command, config);
  if (!config.svg.empty()) {
    write_file_atomically(config.svg, inspect::svg_heat(profile::profile_figure(found)));
  }
  if (!config.png.empty()) {
    write_file_atomically(config.png, inspect::png_heat(profile::profile_figure(found)));
  }
  Json summary = {{"out", config.out}};
  summary.update(profile::summary_json(found));
  summary["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (command.json) {
    print_json(summary);
  } else {
    std::cout << summary_text(summary);
  }
}

}  // namespace

void add_profile(CLI::App& parent) {
  auto command = std::make_shared<ProfileCommand>();
  CLI::App& app = add_command(parent, "profile", kProfileExamples);
  add_model_argument(app, "RUN", command->run, "run or model directory");
  add_fields<tasks::ProfileTexts>(app, {.title = "Texts"}, command->texts);
  add_fields<ProfileConfig>(app, {.title = "Options"}, command->given);
  app.add_option("--merge", command->merge, "join the profiles of all shards into one, equal to that of one process")
      ->option_text("FILE...");
  add_threads_flag(app, command->threads);
  add_json_flag(app, command->json);
  app.callback([command] { run_profile_command(*command); });
}

}  // namespace weft::cli
