// SPDX-License-Identifier: Apache-2.0
// `weft init`: a randomly initialised model directory of any shape, for measurements, tests and training from scratch.
#include <memory>

#include "weft/checkpoint/new_models/init_directory.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/front/short_help.h"
#include "weft/cli/new_models/encoder_fields.h"
#include "weft/cli/new_models/pair_fields.h"
#include "weft/cli/new_models/print_new_model.h"
#include "weft/models/encoder_decoder_config.h"

namespace weft::cli {
namespace {

constexpr const char* kInitExamples =
    "  weft init --family big_bird --out bigbird-base\n"
    "  weft init --family longformer --head question-answering --tokenizer roberta-base --num-hidden-layers 2 --out "
    "small\n"
    "  weft init --config bert-base-uncased/config.json --head sequence-classification --labels bad good --out fresh\n"
    "  weft init --family etc --tokenizer bert-base-uncased --out etc-base\n"
    "  weft init --family marian --d-model 512 --encoder-layers 6 --decoder-layers 6 --out fresh-marian\n"
    "  weft init --encoder bigbird-roberta-base --decoder-layers 6 --out bigbird-start\n"
    "  weft train --task classify --model fresh --train-data train.tsv --out run";

struct InitCommand {
  checkpoint::InitRequest request;
  bool json = false;
};

}  // namespace

void add_init(CLI::App& parent) {
  auto command = std::make_shared<InitCommand>();
  CLI::App& app = add_command(parent, "init", kInitExamples);
  app.add_option("--family", command->request.family,
                 concat(models::encoder_types(", "), ", or of encoder-decoders ",
                        models::types_in_words(models::kEncoderDecoderTypes, ", "),
                        ", at the size that transformers gives it; flags below change that"))
      ->option_text("NAME");
  app.add_option("--config", command->request.config,
                 "config.json, or a directory that has one, whose shape is taken; flags below change it")
      ->option_text("FILE");
  add_model_argument(app, "--encoder", command->request.encoder,
                     "directory of an encoder whose weights start both sides of an encoder-decoder, with fresh "
                     "cross-attention; one whose layers cannot is refused")
      .option_text("DIR");
  add_model_argument(
      app, "--tokenizer", command->request.tokenizer,
      "directory whose tokeniser is copied; its vocabulary decides vocab_size and the ids of special tokens",
      hub::Need::kTokenizer)
      .option_text("DIR");
  app.add_option("--out", command->request.out, "model directory to make")->option_text("OUT")->required();
  add_fields<checkpoint::InitConfig>(app, {.title = "Options"}, command->request.given);
  add_encoder_fields(
      app,
      {.title = "Shape (defaults are those of bert; --family and --config have others)", .left_out = {"model_type"}},
      command->request.shape);
  add_fields<models::EncoderDecoderConfig>(
      app,
      {.title = "Shape of encoder-decoders, beside the flags of the same names", .left_out = pair_fields_left_out()},
      command->request.shape);
  add_pair_own_fields(app, {.title = "Shape of some encoder-decoders"}, command->request.shape);
  add_json_flag(app, command->json);
  show_first(app, {.flags = {"--family",
                             "--config",
                             "--encoder",
                             "--tokenizer",
                             "--head",
                             "--labels",
                             "--seed",
                             "--vocab-size",
                             "--hidden-size",
                             "--num-hidden-layers",
                             "--num-attention-heads",
                             "--intermediate-size",
                             "--max-position-embeddings",
                             "--attention",
                             "--d-model",
                             "--encoder-layers",
                             "--decoder-layers",
                             "--max-source-positions",
                             "--max-target-positions",
                             "--json"}});
  app.callback([command] {
    print_new_model(command->request.out, checkpoint::init_directory(command->request), command->json);
  });
}

}  // namespace weft::cli
