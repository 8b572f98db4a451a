// SPDX-License-Identifier: Apache-2.0
// `weft convert`: a long encoder out of a BERT or RoBERTa checkpoint, and encoder-decoders that read longer sources or
// attend to them otherwise.
#include <memory>

#include "weft/checkpoint/new_models/convert_directory.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/new_models/print_new_model.h"

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
    "  weft train --task mlm --model roberta-longformer-4096 --train-text books/train --steps 3000 --out trained";

struct ConvertCommand {
  checkpoint::ConvertRequest request;
  bool json = false;
};

}  // namespace

void add_convert(CLI::App& parent) {
  auto command = std::make_shared<ConvertCommand>();
  CLI::App& app = add_command(parent, "convert", kConvertExamples);
  add_model_argument(app, "DIR", command->request.directory,
                     "model directory of a BERT, a RoBERTa or an encoder-decoder, which stays as it is")
      .required();
  app.add_option("--out", command->request.out, "model directory to make")->option_text("OUT")->required();
  add_fields<checkpoint::ConvertConfig>(app, {.title = "Options"}, command->request.given);
  add_json_flag(app, command->json);
  app.callback([command] {
    print_new_model(command->request.out, checkpoint::convert_directory(command->request), command->json);
  });
}

}  // namespace weft::cli
