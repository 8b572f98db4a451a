// SPDX-License-Identifier: Apache-2.0
// The check before, the tokeniser's settings and the report after.
#include "weft/cli/tasks/new_directory.h"

#include <iostream>

#include "weft/cli/output.h"
#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/formats/config_json.h"
#include "weft/text/hugging_face.h"

namespace weft::cli {

void require_no_model(const std::filesystem::path& out) {
  std::error_code error;
  if (std::filesystem::exists(out / "config.json", error)) {
    throw Error(ErrorKind::kArgument, concat(quote(out.native(), 4096), ": already holds a model"),
                "name another directory, or move that one away");
  }
}

void fit_tokenizer(const std::filesystem::path& directory, std::int64_t length, const std::string& family) {
  if (!text::HuggingFaceTokenizer::present_in(directory)) {
    return;
  }
  const std::filesystem::path file = directory / "tokenizer_config.json";
  formats::Json settings = std::filesystem::exists(file) ? formats::read_json(file) : formats::Json::object();
  if (!settings.is_object()) {
    fail(ErrorKind::kFormat, quote(file.native(), 4096), ": expected an object, found ", settings.type_name());
  }
  settings["model_max_length"] = length;
  if (!settings.contains("tokenizer_class")) {
    settings["tokenizer_class"] = family == "bert" ? "BertTokenizer" : "RobertaTokenizer";
  }
  write_file_atomically(file, formats::print_json(settings, 2) + "\n");
}

void print_new_model(const std::filesystem::path& out, const models::EncoderModel& model, bool json) {
  const models::EncoderConfig& config = model->config();
  const std::string head(models::to_string(model->head()));
  if (json) {
    print_json({{"out", out.native()},
                {"family", config.model_type},
                {"head", head},
                {"parameters", model->parameter_count()},
                {"positions", config.maximum_length()}});
    return;
  }
  std::cout << name_table({{"directory", out.native()},
                           {"family", config.model_type},
                           {"head", head},
                           {"parameters", digits(model->parameter_count())},
                           {"positions", digits(config.maximum_length()) + " tokens"}});
}

}  // namespace weft::cli
