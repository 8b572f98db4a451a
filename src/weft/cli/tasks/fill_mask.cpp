// SPDX-License-Identifier: Apache-2.0
// `weft fill-mask`: what stands where a text has the mask.
#include "weft/tasks/fill_mask.h"

#include <memory>

#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/cli/tasks/task_command.h"
#include "weft/core/joined.h"
#include "weft/requests/encoder_parameters.h"

namespace weft::cli {
namespace {

constexpr const char* kFillMaskExamples =
    "  weft fill-mask bert-base-uncased 'The loom weaves the [MASK].'\n"
    "  weft fill-mask longformer-base-4096 --file masked.txt --top-k 3 --json\n"
    "  weft fill-mask bigbird-roberta-base 'We [MASK] it.' --targets see hear --attention 'window(256)'";

struct FillMaskCommand {
  TaskFlags flags;
  TextSource source;
  formats::Json given = formats::Json::object();
};

// "thread 0.512  wool 0.044", the masks of one text separated by " | ".
std::string fill_mask_line(const formats::Json& result) {
  const bool several = !result.empty() && result.front().is_array();
  const auto one = [](const formats::Json& token) {
    return token["token_str"].get<std::string>() + " " + score_text(token["score"].get<double>());
  };
  return joined(several ? result : formats::Json::array({result}), " | ",
                [&](const formats::Json& list) { return joined(list, "  ", one); });
}

// The best token and its score; a list of each for several masks.
formats::Json fill_mask_columns(const formats::Json& result) {
  if (result.empty() || !result.front().is_array()) {
    return {{"predicted", result.front()["token_str"]}, {"predicted_score", result.front()["score"]}};
  }
  formats::Json columns = {{"predicted", formats::Json::array()}, {"predicted_score", formats::Json::array()}};
  for (const formats::Json& mask : result) {
    columns["predicted"].push_back(mask.front()["token_str"]);
    columns["predicted_score"].push_back(mask.front()["score"]);
  }
  return columns;
}

void run_fill_mask(const FillMaskCommand& command) {
  requests::FillMaskParameters config;
  formats::update_from_json(config, command.given, "weft fill-mask");
  OpenTask task = open_task(command.flags, models::Head::kMaskedLanguageModel, "weft fill-mask");
  const tasks::FillMaskOptions options{.top_k = config.top_k, .targets = config.targets, .run = task.run};
  run_on_texts(
      command.source, command.flags, task.run,
      [&](std::span<const tasks::Document> documents) { return tasks::fill_masks(task.model, documents, options); },
      {fill_mask_line, fill_mask_columns});
}

}  // namespace

void add_fill_mask(CLI::App& parent) {
  auto command = std::make_shared<FillMaskCommand>();
  CLI::App& app = add_command(parent, "fill-mask", kFillMaskExamples);
  add_task_directory(app, command->flags);
  add_text_arguments(app, command->source, false);
  add_fields<requests::FillMaskParameters>(app, {.title = "Options"}, command->given);
  add_result_file(app, command->flags);
  add_task_flags(app, command->flags, true);
  app.callback([command] { run_fill_mask(*command); });
}

}  // namespace weft::cli
