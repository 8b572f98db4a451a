// SPDX-License-Identifier: Apache-2.0
// `weft profile`: where the attention of a model goes over a set of texts, as a file that other commands read.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/threads.h"
#include "weft/runs/profile/profile.h"
#include "weft/tasks/profile/profile_input.h"

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

struct ProfileOptions {
  std::string run;
  std::vector<std::string> merge;
  Json given = Json::object();
  MachineFlags machine;
  bool json = false;
};

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

void run_profile_command(const ProfileOptions& options) {
  apply_machine(options.machine);
  const Json summary =
      runs::profile({.asker = "weft profile", .model = options.run, .merge = options.merge, .given = options.given});
  if (options.json) {
    print_json(summary);
  } else {
    std::cout << summary_text(summary);
  }
}

}  // namespace

void add_profile(CLI::App& parent) {
  auto command = std::make_shared<ProfileOptions>();
  CLI::App& app = add_command(parent, "profile", kProfileExamples);
  add_model_argument(app, "RUN", command->run, "run or model directory");
  add_fields<tasks::ProfileTexts>(app, {.title = "Texts"}, command->given);
  add_fields<runs::ProfileConfig>(app, {.title = "Options"}, command->given);
  app.add_option("--merge", command->merge, "join the profiles of all shards into one, equal to that of one process")
      ->option_text("FILE...");
  add_machine_flags(app, command->machine);
  add_json_flag(app, command->json);
  app.callback([command] { run_profile_command(*command); });
}

}  // namespace weft::cli
