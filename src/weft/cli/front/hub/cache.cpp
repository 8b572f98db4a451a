// SPDX-License-Identifier: Apache-2.0
// `weft cache`: the models that Weft and Python's huggingface_hub have downloaded, listed, checked and removed.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/cli/front/commands/table.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/output.h"
#include "weft/core/error.h"
#include "weft/core/interrupt.h"
#include "weft/core/joined.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/hub/model_name.h"
#include "weft/hub/settings.h"
#include "weft/hub/stored_models.h"

namespace weft::cli {
namespace {

using formats::Json;

struct CacheCommand {
  std::vector<std::string> names;
  bool json = false;
};

std::string revision_text(const hub::StoredRevision& revision) {
  const std::string names = revision.names.empty() ? "no name" : joined(revision.names, ", ");
  return concat(revision.commit.substr(0, 12), " (", names,
                "): ", counted(static_cast<std::int64_t>(revision.files), "file"), ", ",
                with_unit(static_cast<double>(revision.bytes), "B"));
}

Json stored_json(const hub::StoredModel& model) {
  Json revisions = Json::array();
  for (const hub::StoredRevision& revision : model.revisions) {
    revisions.push_back(
        {{"commit", revision.commit}, {"names", revision.names}, {"files", revision.files}, {"bytes", revision.bytes}});
  }
  return {{"model", model.repository},
          {"path", model.folder.string()},
          {"bytes", model.bytes},
          {"unfinished_bytes", model.unfinished},
          {"revisions", revisions}};
}

void list_cache(const CacheCommand& command) {
  const hub::HubSettings settings = hub::settings_of_environment();
  const std::vector<hub::StoredModel> models = hub::stored_models(settings.cache);
  if (command.json) {
    Json list = Json::array();
    std::ranges::transform(models, std::back_inserter(list), stored_json);
    print_json({{"cache", settings.cache.string()}, {"models", list}});
    return;
  }
  if (models.empty()) {
    std::cout << "no models in " << settings.cache.string() << '\n';
    return;
  }
  for (const hub::StoredModel& model : models) {
    std::cout << model.repository << "  " << with_unit(static_cast<double>(model.bytes), "B");
    if (model.unfinished > 0) {
      std::cout << ", " << with_unit(static_cast<double>(model.unfinished), "B") << " of it unfinished";
    }
    std::cout << '\n';
    for (const hub::StoredRevision& revision : model.revisions) {
      std::cout << "  " << revision_text(revision) << '\n';
    }
  }
}

// Those that were named, or all. Errors: UsageError for a name that is none; kArgument for a model that is not there.
std::vector<hub::StoredModel> chosen_models(const CacheCommand& command, const std::filesystem::path& cache) {
  std::vector<hub::StoredModel> all = hub::stored_models(cache);
  if (command.names.empty()) {
    return all;
  }
  std::vector<hub::StoredModel> chosen;
  for (const std::string& name : command.names) {
    const auto found = std::ranges::find(all, name, &hub::StoredModel::repository);
    if (found == all.end()) {
      throw Error(ErrorKind::kArgument,
                  concat("the cache ", quote(cache.native(), 4096), " has no model ", quote(name)),
                  "see `weft cache list`");
    }
    chosen.push_back(*found);
  }
  return chosen;
}

// What was found of a model: as JSON, and as lines for people behind `text`.
Json told_of(const hub::StoredModel& model, const hub::Verified& verified, std::string& text) {
  Json damages = Json::array();
  for (const hub::Damage& damage : verified.damages) {
    damages.push_back({{"file", damage.file.string()}, {"problem", damage.problem}});
    text += concat(damage.file.string(), ": ", damage.problem, "\n");
  }
  text += concat(model.repository, ": ", counted(static_cast<std::int64_t>(verified.blobs), "file"), ", ",
                 with_unit(static_cast<double>(verified.bytes), "B"), ", ",
                 verified.damages.empty() ? "good" : "damaged", "\n");
  return {{"model", model.repository},
          {"files", verified.blobs},
          {"bytes", verified.bytes},
          {"unnamed", verified.unnamed},
          {"damages", damages}};
}

// What was found is printed first; that something is damaged is the error behind it.
void verify_cache(const CacheCommand& command) {
  const hub::HubSettings settings = hub::settings_of_environment();
  const std::vector<hub::StoredModel> models = chosen_models(command, settings.cache);
  const InterruptGuard guard;
  ProgressBar bar("checking", static_cast<double>(models.size()));
  bar.keep_showing();
  Json list = Json::array();
  std::string text;
  std::size_t damaged = 0;
  std::string damaged_models;
  for (const hub::StoredModel& model : models) {
    const hub::Verified verified = hub::verify_model(model);
    damaged += verified.damages.size();
    damaged_models += verified.damages.empty() ? "" : " " + model.repository;
    list.push_back(told_of(model, verified, text));
    bar.update(static_cast<double>(list.size()));
  }
  bar.finish();
  if (command.json) {
    print_json({{"cache", settings.cache.string()}, {"models", list}});
  } else {
    std::cout << text;
  }
  if (damaged > 0) {
    throw Error(
        ErrorKind::kFormat,
        concat(counted(static_cast<std::int64_t>(damaged), "file"), " in the cache ",
               quote(settings.cache.native(), 4096), " cannot be what a Hub sent"),
        concat("`weft cache remove", damaged_models, "` and then `weft download", damaged_models, "` bring them anew"));
  }
}

void remove_cached(const CacheCommand& command) {
  const hub::HubSettings settings = hub::settings_of_environment();
  std::vector<hub::ModelName> names;
  for (const std::string& text : command.names) {
    const std::optional<hub::ModelName> name = hub::parse_model_name(text);
    if (!name) {
      throw UsageError(concat(quote(text), " is no name of a model on the Hub"), "see `weft cache list`");
    }
    names.push_back(*name);
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool whole = command.names[i].find('@') == std::string::npos;
    const std::uint64_t bytes = hub::remove_model(settings.cache, names[i], whole);
    list.push_back({{"removed", command.names[i]}, {"bytes", bytes}});
    if (!command.json) {
      std::cout << "removed " << command.names[i] << ": " << with_unit(static_cast<double>(bytes), "B") << '\n';
    }
  }
  if (command.json) {
    print_json(list);
  }
}

using CacheAction = void (*)(const CacheCommand&);

CLI::Option* add_cache_action(CLI::App& parent, const std::string& name, const std::string& about,
                              const std::string& names, CacheAction action) {
  auto command = std::make_shared<CacheCommand>();
  CLI::App& app = add_command(parent, name, about, "  weft cache " + name + (names.empty() ? " --json" : " org/name"));
  CLI::Option* option = nullptr;
  if (!names.empty()) {
    option = app.add_option("NAMES", command->names, names);
  }
  add_json_flag(app, command->json);
  app.callback([command, action] { action(*command); });
  return option;
}

}  // namespace

void add_cache(CLI::App& parent) {
  CLI::App& app = add_command(parent, "cache", "  weft cache list\n  weft cache verify\n  weft cache remove org/name");
  app.require_subcommand(1);
  add_cache_action(app, "list", "show the models in the cache, their revisions and sizes", "", list_cache);
  add_cache_action(app, "verify", "read every file and compare its digest with its name",
                   "models to check: ORG/NAME; all unless given", verify_cache);
  add_cache_action(app, "remove", "delete models, or single revisions of them",
                   "models to remove: ORG/NAME, or ORG/NAME@REVISION for what only that revision needs", remove_cached)
      ->required();
}

}  // namespace weft::cli
