// SPDX-License-Identifier: Apache-2.0
// A picture as a prompt, and new bytes as a picture.
#include "weft/tasks/pictures/complete_picture.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/checkpoint/model_directory.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/interrupt.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/system/usage_error.h"
#include "weft/data/picture_tokens.h"
#include "weft/generation/search/search.h"
#include "weft/readers/media/png.h"
#include "weft/training/evaluation/evaluate_pictures.h"

namespace weft::tasks {
namespace {

// The bytes of the kept rows, in the model's shape.
std::vector<unsigned char> kept_bytes(const PictureRequest& request, const models::TransformerConfig& model,
                                      const readers::PictureShape& shape, std::int64_t rows) {
  if (request.image.empty()) {
    return {};
  }
  readers::PictureReader reader(request.image);
  require(reader.size() == 1, option("image"), ": ", Quoted(request.image, 4096), " must hold one picture, found ",
          reader.size());
  readers::Picture picture;
  reader.next(picture);
  training::check_pictures(model, picture.shape, concat(option("image"), " ", quote(request.image, 4096)));
  picture.bytes.resize(static_cast<std::size_t>(rows * shape.width * shape.channels));
  return picture.bytes;
}

// The ids behind `prompt` that make it whole; the begin of a picture is none of them.
generation::Ids missing_bytes(const models::LanguageModel& model, const generation::Ids& prompt, std::int64_t missing,
                              generation::GenerationConfig config) {
  config.max_new_tokens = missing;
  config.max_length = -1;
  config.suppress_tokens.push_back(data::kBeginOfPicture);
  ProgressBar bar("writing bytes", static_cast<double>(missing));
  double done = 0;
  generation::SearchRequest request{.prompts = {prompt}};
  if (config.num_beams == 1) {
    request.on_token = [&](std::int64_t, std::int64_t) {
      bar.update(++done);
      return true;
    };
  }
  generation::LanguageModelDecoder decoder(model);
  return generation::search(decoder, request, config).front().front().ids;
}

}  // namespace

void check_picture_request(const PictureRequest& request, const formats::Json& given) {
  if (request.output.empty()) {
    throw UsageError(
        concat("weft generate: ", option("image"), " and ", option("keep_rows"), " need ", option("output")),
        concat("give ", option("output"), " FILE.png"));
  }
  if (request.image.empty() && request.keep_rows > 0) {
    throw UsageError(concat("weft generate: ", option("keep_rows"), " ", request.keep_rows, " needs ", option("image"),
                            ", whose rows are kept"),
                     concat(option("keep_rows"), " 0 writes a picture from its first byte on"));
  }
  constexpr std::array<std::string_view, 9> kForTexts = {
      "max_new_tokens",  "max_length",   "min_new_tokens", "min_length",         "num_return_sequences",
      "suppress_tokens", "stop_strings", "eos_token_id",   "forced_eos_token_id"};
  for (const std::string_view name : kForTexts) {
    if (given.contains(name)) {
      throw UsageError(concat(option(name), " has no meaning for a picture, which is written to its last byte"),
                       "leave it out");
    }
  }
}

CompletedPicture complete_picture(const PictureRequest& request, const checkpoint::OpenedModel& directory,
                                  generation::GenerationConfig config, const checkpoint::LoadOptions& load) {
  directory.need(checkpoint::Ability::kDraw);
  const models::TransformerConfig model_config = checkpoint::load_config(directory);
  const readers::PictureShape shape{model_config.picture_shape[0], model_config.picture_shape[1],
                                    model_config.picture_shape[2]};
  const std::int64_t rows = request.keep_rows < 0 ? shape.height / 2 : request.keep_rows;
  require(rows <= shape.height, option("keep_rows"), " must be at most ", shape.height,
          ", the rows of a picture, found ", rows);
  readers::Picture picture{shape, kept_bytes(request, model_config, shape, rows)};
  generation::Ids prompt = {data::kBeginOfPicture};
  prompt.insert(prompt.end(), picture.bytes.begin(), picture.bytes.end());
  const std::int64_t missing = shape.bytes() - static_cast<std::int64_t>(picture.bytes.size());
  const InterruptGuard guard;
  if (missing > 0) {
    for (const std::int64_t id :
         missing_bytes(checkpoint::load_model(directory, load), prompt, missing, std::move(config))) {
      picture.bytes.push_back(static_cast<unsigned char>(id));
    }
  }
  if (interrupted()) {
    fail(ErrorKind::kInterrupted, "stopped before all bytes were there; ", quote(request.output, 4096),
         " was not written");
  }
  write_file_atomically(request.output, readers::png_of(picture));
  return {.rows_kept = rows, .new_bytes = missing};
}

}  // namespace weft::tasks
