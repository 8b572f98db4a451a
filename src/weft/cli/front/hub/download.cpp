// SPDX-License-Identifier: Apache-2.0
// `weft download`: models of the Hub as they are there now, into the cache that Python's huggingface_hub shares.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/core/interrupt.h"
#include "weft/core/quote.h"
#include "weft/hub/download.h"
#include "weft/hub/model_name.h"
#include "weft/hub/settings.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr const char* kDownloadExamples =
    "  weft download allenai/longformer-base-4096\n"
    "  weft download google/bigbird-roberta-base@main Helsinki-NLP/opus-mt-de-en\n"
    "  HF_TOKEN=... weft download my-organisation/private-model --json\n"
    "  weft download org/model --include 'onnx/*' --include '*.json' --exclude '*fp16*'\n"
    "  weft fill-mask allenai/longformer-base-4096 'Paris is the <mask> of France.'";

struct DownloadCommand {
  std::vector<std::string> names;
  bool tokenizer_only = false;
  hub::FilePatterns patterns;
  bool json = false;
};

// All names are looked at before the first request.
std::vector<hub::ModelName> model_names(const std::vector<std::string>& given) {
  std::vector<hub::ModelName> names;
  for (const std::string& text : given) {
    const std::optional<hub::ModelName> name = hub::parse_model_name(text);
    if (!name) {
      throw UsageError(
          concat(quote(text), " is no name of a model on the Hub"),
          "a name is ORG/NAME or one word, with @REVISION behind it where another revision than main is meant");
    }
    names.push_back(*name);
  }
  return names;
}

Json downloaded_json(const hub::ModelName& name, const hub::Downloaded& got) {
  return {{"model", name.repository},       {"revision", name.revision}, {"commit", got.commit},
          {"path", got.snapshot.string()},  {"files", got.files},        {"bytes", got.bytes},
          {"downloaded_bytes", got.fetched}};
}

void run_download(const DownloadCommand& command) {
  const std::vector<hub::ModelName> names = model_names(command.names);
  const hub::HubSettings settings = hub::settings_of_environment();
  if (settings.offline) {
    throw Error(ErrorKind::kUnsupported, "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids a download",
                "unset it, or see `weft cache list` for the models that are here");
  }
  const InterruptGuard guard;
  Json printed = Json::array();
  for (const hub::ModelName& name : names) {
    const hub::Need need = command.tokenizer_only ? hub::Need::kTokenizer : hub::Need::kModel;
    const hub::Downloaded got = hub::download_model(name, settings, need, command.patterns);
    if (command.json) {
      printed.push_back(downloaded_json(name, got));
    } else {
      std::cout << got.snapshot.string() << std::endl;  // one after the other, for who reads along
    }
  }
  if (command.json) {
    print_json(printed);
  }
}

CLI::Option* add_patterns(CLI::App& app, const std::string& flag, std::vector<std::string>& patterns,
                          const std::string& about) {
  return app.add_option(flag, patterns, about + "; may be given several times")
      ->option_text("PATTERN")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

void add_download(CLI::App& parent) {
  auto command = std::make_shared<DownloadCommand>();
  CLI::App& app = add_command(parent, "download", kDownloadExamples);
  app.add_option("NAMES", command->names,
                 "models of the Hub: ORG/NAME[@REVISION], or one word for an old model (distilgpt2); their directories "
                 "are printed")
      ->required();
  CLI::Option* const tokenizer_only =
      app.add_flag("--tokenizer-only", command->tokenizer_only, "leave the weights where they are");
  CLI::Option* const include = add_patterns(
      app, "--include", command->patterns.include,
      "take the files that this pattern fits, in folders too, in place of what a model needs; * fits anything");
  add_patterns(app, "--exclude", command->patterns.exclude, "leave out the files that this pattern fits");
  include->excludes(tokenizer_only);
  add_json_flag(app, command->json);
  app.callback([command] { run_download(*command); });
}

}  // namespace weft::cli
