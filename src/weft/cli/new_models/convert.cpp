// SPDX-License-Identifier: Apache-2.0
// `weft convert`: a long encoder out of a BERT or RoBERTa checkpoint, and encoder-decoders that read longer sources or
// attend to them otherwise.
#include <iostream>
#include <memory>
#include <string>

#include "weft/checkpoint/new_models/convert_directory.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/new_models/print_new_model.h"
#include "weft/core/work/watched_progress.h"
#include "weft/runs/evaluate/int8_cost.h"

namespace weft::cli {
namespace {

constexpr const char* kConvertExamples =
    "  weft convert roberta-base --to longformer --length 4096 --out roberta-longformer-4096\n"
    "  weft convert bert-base-uncased --to big_bird --length 4096 --block-size 64 --out bert-bigbird-4096\n"
    "  weft convert bert-base-uncased --to littlebird --length 8192 --out bert-littlebird-8192\n"
    "  weft convert roberta-base --to etc --length 4096 --out roberta-etc-4096\n"
    "  weft convert roberta-base --attention linear --length 8192 --out roberta-linear-8192\n"
    "  weft convert ModernBERT-base --to modernbert --attention 'full => window(1024) | global(1)' --length 32768 "
    "--out "
    "modern-32k\n"
    "  weft convert bart-base --to led --length 16384 --out led-base-16384\n"
    "  weft convert opus-mt-de-en --attention \"window(128) | global(1)\" --out long-de-en\n"
    "  weft convert bert-base-uncased --attention @prune.json --out pruned-bert\n"
    "  weft convert run --to transfo-xl --out transformer-xl\n"
    "  weft convert run --to reformer --out reformer\n"
    "  weft convert all-MiniLM-L6-v2 --weights int8 --check held-out.txt --out minilm-int8\n"
    "  weft train --task mlm --model roberta-longformer-4096 --train-text books/train --steps 3000 --out trained";

struct ConvertCommand {
  checkpoint::ConvertRequest request;
  std::string check;
  std::string check_target;
  bool json = false;
};

void print_cost(const formats::Json& cost) {
  Rows rows;
  for (const auto& [name, value] : cost.items()) {
    if (value.is_object()) {
      for (const auto& [inner, number] : value.items()) {
        rows.emplace_back(concat(name, " ", inner), number.is_number()   ? fixed(number.get<double>(), 4)
                                                    : number.is_string() ? number.get<std::string>()
                                                                         : "none");
      }
    } else {
      rows.emplace_back(name, value.is_number_float() ? fixed(value.get<double>(), 6)
                              : value.is_string()     ? value.get<std::string>()
                                                      : value.dump());
    }
  }
  std::cout << "\ncost of int8\n" << name_table(rows);
}

void run_convert(const ConvertCommand& command) {
  const bool checks = !command.check.empty() || !command.check_target.empty();
  if (checks && (command.check.empty() || command.request.given.value("weights", "stored") != "int8")) {
    throw UsageError("weft convert: --check measures what --weights int8 costs",
                     "give --weights int8 and --check TEXT, and --check-target for an encoder-decoder");
  }
  const runs::Int8Check check{command.request.directory, command.request.out, command.check, command.check_target};
  if (checks) {
    runs::check_int8_texts(check);  // before anything is made
  }
  const checkpoint::NewModel made = checkpoint::convert_directory(command.request);
  if (!checks) {
    print_new_model(command.request.out, made, command.json);
    return;
  }
  const BusyBar bar("checking");
  const formats::Json cost = runs::int8_cost(check);
  if (command.json) {
    formats::Json said = new_model_json(command.request.out, made);
    said["check"] = cost;
    print_json(said);
    return;
  }
  print_new_model(command.request.out, made, false);
  print_cost(cost);
}

}  // namespace

void add_convert(CLI::App& parent) {
  auto command = std::make_shared<ConvertCommand>();
  CLI::App& app = add_command(parent, "convert", kConvertExamples);
  add_model_argument(app, "DIR", command->request.directory,
                     "model directory of a BERT, a RoBERTa or an encoder-decoder, which stays as it is")
      .required();
  app.add_option("--out", command->request.out, "model directory to make")->option_text("OUT")->required();
  add_fields<checkpoint::ConvertConfig>(app, {.title = "Options"}, command->request.given);
  app.add_option("--check", command->check,
                 "held-out text, with which the result is compared with DIR: the mean and the worst change of the loss "
                 "of a language model, of the vector of each line for another encoder; the sources of an "
                 "encoder-decoder")
      ->option_text("TEXT");
  app.add_option("--check-target", command->check_target,
                 "what the sources of --check should become, line by line: loss and BLEU are compared")
      ->option_text("TEXT");
  add_json_flag(app, command->json);
  app.callback([command] { run_convert(*command); });
}

}  // namespace weft::cli
