// SPDX-License-Identifier: Apache-2.0
// A picture as a prompt, and new bytes as a picture.
#include "weft/cli/generation/picture_completion.h"

#include <array>
#include <chrono>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/checkpoint/model_directory.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/interrupt.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/data/picture_tokens.h"
#include "weft/generation/search/search.h"
#include "weft/readers/media/png.h"
#include "weft/training/evaluation/evaluate_pictures.h"

namespace weft::cli {
namespace {

// The bytes of the kept rows, in the model's shape.
std::vector<unsigned char> kept_bytes(const PictureOptions& options, const models::TransformerConfig& model,
                                      const readers::PictureShape& shape, std::int64_t rows) {
  if (options.image.empty()) {
    return {};
  }
  readers::PictureReader reader(options.image);
  require(reader.size() == 1, "--image: ", Quoted(options.image, 4096), " must hold one picture, found ",
          reader.size());
  readers::Picture picture;
  reader.next(picture);
  training::check_pictures(model, picture.shape, concat("--image ", quote(options.image, 4096)));
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

void check_picture_options(const PictureOptions& options, const GenerationFlags& settings) {
  if (options.output.empty()) {
    throw UsageError("weft generate: --image and --keep-rows need --output", "give --output FILE.png");
  }
  if (options.image.empty() && options.keep_rows > 0) {
    throw UsageError(concat("weft generate: --keep-rows ", options.keep_rows, " needs --image, whose rows are kept"),
                     "--keep-rows 0 writes a picture from its first byte on");
  }
  constexpr std::array<std::string_view, 9> kForTexts = {
      "max_new_tokens",  "max_length",   "min_new_tokens", "min_length",         "num_return_sequences",
      "suppress_tokens", "stop_strings", "eos_token_id",   "forced_eos_token_id"};
  for (const std::string_view name : kForTexts) {
    if (settings.given.contains(name)) {
      throw UsageError(concat(flag_name(name), " has no meaning for a picture, which is written to its last byte"),
                       "leave it out");
    }
  }
}

void complete_picture(const PictureOptions& options, const checkpoint::OpenedModel& directory,
                      generation::GenerationConfig config) {
  directory.need(checkpoint::Ability::kDraw);
  const models::TransformerConfig model_config = checkpoint::load_config(directory);
  const readers::PictureShape shape{model_config.picture_shape[0], model_config.picture_shape[1],
                                    model_config.picture_shape[2]};
  const std::int64_t rows = options.keep_rows < 0 ? shape.height / 2 : options.keep_rows;
  require(rows <= shape.height, "--keep-rows must be at most ", shape.height, ", the rows of a picture, found ", rows);
  readers::Picture picture{shape, kept_bytes(options, model_config, shape, rows)};
  const auto start = std::chrono::steady_clock::now();
  generation::Ids prompt = {data::kBeginOfPicture};
  prompt.insert(prompt.end(), picture.bytes.begin(), picture.bytes.end());
  const std::int64_t missing = shape.bytes() - static_cast<std::int64_t>(picture.bytes.size());
  const InterruptGuard guard;
  if (missing > 0) {
    for (const std::int64_t id : missing_bytes(checkpoint::load_model(directory), prompt, missing, std::move(config))) {
      picture.bytes.push_back(static_cast<unsigned char>(id));
    }
  }
  if (interrupted()) {
    fail(ErrorKind::kInterrupted, "stopped before all bytes were there; ", quote(options.output, 4096),
         " was not written");
  }
  write_file_atomically(options.output, readers::png_of(picture));
  if (options.json) {
    print_json({{"output", options.output},
                {"rows_kept", rows},
                {"new_bytes", missing},
                {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}});
  } else {
    std::cout << options.output << ": " << rows << " rows kept, " << digits(missing) << " bytes written anew\n";
  }
}

}  // namespace weft::cli
