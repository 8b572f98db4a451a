// SPDX-License-Identifier: Apache-2.0
// A checkpoint and the best model lie within their run, whose training.json speaks for them too.
#include "weft/training/run/run_of_model.h"

#include <system_error>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/formats/config_json.h"
#include "weft/formats/json_members.h"
#include "weft/training/trainer_config.h"

namespace weft::training {
namespace fs = std::filesystem;

fs::path run_of(const fs::path& model) {
  std::error_code ignored;
  fs::path directory = fs::weakly_canonical(model, ignored);  // "run/" and links, too
  if (!directory.has_filename()) {
    directory = directory.parent_path();
  }
  const auto is_run = [&](const fs::path& path) { return fs::is_regular_file(path / "training.json", ignored); };
  if (is_run(directory)) {
    return directory;
  }
  const fs::path above = directory.parent_path();
  if (directory.filename() == "best" && is_run(above)) {
    return above;
  }
  const bool is_checkpoint = above.filename() == "checkpoints" && directory.filename().native().starts_with("step-");
  return is_checkpoint && is_run(above.parent_path()) ? above.parent_path() : fs::path();
}

std::optional<std::string> run_dtype(const fs::path& model) {
  const fs::path run = run_of(model);
  if (run.empty()) {
    return std::nullopt;
  }
  const ModelFile file(run, "training.json");
  const std::string where = quote(file.path().native(), 4096);
  const formats::Json training = formats::read_json_object(file);
  if (!training.contains("weft_version")) {  // another program's file of that name
    return std::nullopt;
  }
  const auto dtype = formats::value_or(training, "dtype", where, std::string("auto"));
  if (dtype == "auto") {
    return std::nullopt;
  }
  if (dtype != "float32" && dtype != "bfloat16") {
    throw Error(ErrorKind::kFormat, concat(where, ": dtype must be float32 or bfloat16, found ", quote(dtype)),
                concat(option("dtype"), " says how the model is computed, whatever the file says"));
  }
  return dtype;
}

std::string dtype_of_model(const std::string& dtype, const fs::path& model) {
  if (dtype != "auto" && dtype != "run") {
    return dtype;
  }
  if (std::optional<std::string> own = run_dtype(model)) {
    return *own;
  }
  return dtype == "run" ? "float32" : resolved_dtype("auto");
}

}  // namespace weft::training
