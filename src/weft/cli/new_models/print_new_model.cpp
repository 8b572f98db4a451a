// SPDX-License-Identifier: Apache-2.0
// One table for all kinds of models.
#include "weft/cli/new_models/print_new_model.h"

#include <cstdint>
#include <iostream>
#include <string>

#include "weft/cli/front/output.h"

namespace weft::cli {
namespace {

struct NewModel {
  std::string family;
  std::string head;
  std::int64_t parameters = 0;
  std::int64_t positions = 0;
};

void print_made(const std::filesystem::path& out, const NewModel& made, bool json) {
  if (json) {
    print_json({{"out", out.native()},
                {"family", made.family},
                {"head", made.head},
                {"parameters", made.parameters},
                {"positions", made.positions}});
    return;
  }
  std::cout << name_table({{"directory", out.native()},
                           {"family", made.family},
                           {"head", made.head},
                           {"parameters", digits(made.parameters)},
                           {"positions", digits(made.positions) + " tokens"}});
}

}  // namespace

void print_new_model(const std::filesystem::path& out, const models::EncoderModel& model, bool json) {
  const models::EncoderConfig& config = model->config();
  print_made(out,
             {config.model_type, std::string(models::to_string(model->head())), model->parameter_count(),
              config.maximum_length()},
             json);
}

void print_new_model(const std::filesystem::path& out, const models::EncoderDecoder& model, bool json) {
  const models::EncoderDecoderConfig& config = model->config();
  print_made(out, {config.model_type, "encoder-decoder", model->parameter_count(), config.max_source_positions}, json);
}

void print_new_model(const std::filesystem::path& out, const models::LanguageModel& model, std::string_view family,
                     bool json) {
  print_made(out, {std::string(family), "decoder", model->parameter_count(), model->config().max_position_embeddings},
             json);
}

}  // namespace weft::cli
