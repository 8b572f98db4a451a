// SPDX-License-Identifier: Apache-2.0
// What is in the cache is taken as it is: a model does not change between two runs because somebody changed it
// elsewhere. `weft download` asks for the newest.
#include "weft/hub/models.h"

#include <optional>

#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/hub/cache.h"
#include "weft/hub/download.h"
#include "weft/hub/settings.h"

namespace weft::hub {
namespace {

namespace fs = std::filesystem;

// A name, unless a file or a directory lies there, or the first part is a folder here: "run/chekpoints" is a path with
// a slip in it, and is nobody else's business.
std::optional<ModelName> meant_as_name(const std::string& given) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(given, error))) {
    return std::nullopt;
  }
  std::optional<ModelName> name = parse_model_name(given);
  const bool below_a_folder = name && fs::is_directory(given.substr(0, given.find('/')), error);
  return below_a_folder ? std::nullopt : name;
}

[[noreturn]] void fail_offline(const ModelName& name, const HubSettings& settings, bool part) {
  const std::string text = name.text();
  throw Error(
      ErrorKind::kIo,
      concat("there is no directory ", quote(text), " here, and the cache ", quote(settings.cache.native(), 4096),
             part ? " has only a part of that model" : " does not have it",
             ", while HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids a download"),
      "name a directory, or run `weft download " + text + "` without that variable");
}

}  // namespace

fs::path local_model(const std::string& given, Need need) {
  const std::optional<ModelName> name = meant_as_name(given);
  if (!name) {
    return given;
  }
  const HubSettings settings = settings_of_environment();
  const ModelCache cache(settings.cache, *name);
  const std::optional<std::string> commit = cache.commit_of(name->revision);
  const Held held = commit ? held_files(cache.snapshot(*commit), need) : Held::kNothing;
  // One word is most often a slip in the name of a directory: only `weft download` asks the Hub for it.
  if (held == Held::kNothing && name->is_one_word()) {
    return given;
  }
  if (held == Held::kAll || (held == Held::kModel && settings.offline)) {
    return cache.snapshot(*commit);
  }
  if (settings.offline) {
    std::error_code error;
    fail_offline(*name, settings, commit && fs::exists(cache.snapshot(*commit), error));
  }
  const InterruptGuard guard;
  try {
    return download_model(*name, settings, need).snapshot;
  } catch (const Error& error) {
    if (held != Held::kModel || error.kind() != ErrorKind::kIo) {
      throw;
    }
    report_progress(concat(error.what(), "; going on with the cache, which has no tokeniser of this model"));
    return cache.snapshot(*commit);
  }
}

}  // namespace weft::hub
