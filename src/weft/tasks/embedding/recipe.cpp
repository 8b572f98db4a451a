// SPDX-License-Identifier: Apache-2.0
// A directory's modules with what a caller said in their place. Widths are checked here, before a text is read.
#include "weft/tasks/embedding/recipe.h"

#include <algorithm>
#include <utility>

#include "weft/checkpoint/sentence/module_files.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"

namespace weft::tasks {
namespace {

using checkpoint::DropoutModule;
using checkpoint::NormalizeModule;
using checkpoint::PoolingModule;
using checkpoint::SentenceModule;

bool is_normalize(const SentenceModule& module) { return std::holds_alternative<NormalizeModule>(module); }
bool is_dropout(const SentenceModule& module) { return std::holds_alternative<DropoutModule>(module); }

// The place behind the last module that computes something else than a norm.
std::size_t end_before_norms(const std::vector<SentenceModule>& modules) {
  std::size_t end = modules.size();
  while (end > 0 && (is_normalize(modules[end - 1]) || is_dropout(modules[end - 1]))) {
    --end;
  }
  return end;
}

// From the last Pooling on: it begins anew with the vectors of the tokens, whatever stands before it.
void take_modules(EmbedRecipe& recipe, const std::vector<SentenceModule>& modules, const std::string& where) {
  std::size_t last = modules.size();
  for (std::size_t i = 0; i < modules.size(); ++i) {
    last = std::holds_alternative<PoolingModule>(modules[i]) ? i : last;
  }
  if (last == modules.size()) {
    throw Error(ErrorKind::kArgument,
                concat(where, ": modules.json has no Pooling, so no module makes one vector of a text's tokens"),
                concat(option("pooling"), " MODE says how"));
  }
  recipe.pooling = std::get<PoolingModule>(modules[last]);
  recipe.modules.assign(modules.begin() + static_cast<std::ptrdiff_t>(last) + 1, modules.end());
}

void set_normalize(EmbedRecipe& recipe, bool normalize) {
  recipe.normalize = normalize;
  if (!normalize) {
    const std::size_t end = end_before_norms(recipe.modules);
    const auto behind = recipe.modules.begin() + static_cast<std::ptrdiff_t>(end);
    recipe.modules.erase(std::remove_if(behind, recipe.modules.end(), is_normalize), recipe.modules.end());
  }
}

void set_dimensions(EmbedRecipe& recipe, std::int64_t dimensions, const std::string& where) {
  const std::int64_t whole = whole_width(recipe);
  require(dimensions >= 0 && dimensions <= whole, where, ": dimensions must be 1 to ", whole,
          ", the numbers of a vector, or 0 for all of them, found ", dimensions);
  recipe.dimensions = dimensions == whole ? 0 : dimensions;
}

void set_prompt_name(EmbedRecipe& recipe, const std::string& name, const std::string& where) {
  const auto found = recipe.prompts.find(name);
  if (found == recipe.prompts.end()) {
    std::vector<std::string> names;
    std::vector<std::string_view> views;
    for (const auto& [known, text] : recipe.prompts) {
      names.push_back(known);
      views.push_back(known);
    }
    const std::string nearest = did_you_mean(name, views);
    throw Error(ErrorKind::kArgument,
                concat(where, ": no prompt is called ", quote(name), "; ",
                       names.empty() ? "the directory has no prompts" : concat("there are ", quoted_list(names, 8))),
                nearest.empty() ? "a prompt itself can be given in place of a name" : nearest);
  }
  recipe.prompt = found->second;
  recipe.prompt_name = name;
}

void set_prompt(EmbedRecipe& recipe, const std::optional<std::string>& prompt, const std::optional<std::string>& name,
                const std::string& where) {
  require(!prompt || !name, where, ": a prompt and the name of one cannot be given together");
  if (name) {
    set_prompt_name(recipe, *name, where);
  } else if (prompt) {
    recipe.prompt = *prompt;
    recipe.prompt_name.clear();
  }
}

// Errors about a width are those of the file, or of the caller where that one chose the pooling.
void check_widths(const EmbedRecipe& recipe, std::int64_t width, bool chosen, const std::string& where) {
  try {
    std::int64_t found = checkpoint::width_behind(recipe.pooling, width, where);
    for (const SentenceModule& module : recipe.modules) {
      found = checkpoint::width_behind(module, found, where);
    }
  } catch (const Error& error) {
    if (!chosen) {
      throw;
    }
    throw Error(ErrorKind::kArgument, concat(error.what(), " with the pooling ", pooling_text(recipe.pooling.modes)),
                "the modules behind the pooling were trained for the directory's own: leave that as it is");
  }
}

formats::Json names_of(const std::vector<checkpoint::PoolingMode>& modes) {
  formats::Json names = formats::Json::array();
  for (const checkpoint::PoolingMode mode : modes) {
    names.push_back(checkpoint::pooling_mode_name(mode));
  }
  return names.size() == 1 ? names.front() : names;
}

}  // namespace

EmbedRecipe make_recipe(const std::optional<checkpoint::SentenceDirectory>& directory, std::int64_t width,
                        const EmbedOverrides& overrides, const std::string& where) {
  EmbedRecipe recipe;
  const bool chosen = !overrides.pooling.empty();
  if (directory) {
    recipe.of_directory = true;
    recipe.prompts = directory->prompts;
    recipe.similarity = directory->similarity;
    if (!directory->modules.empty() || !chosen) {
      take_modules(recipe, directory->modules, where);
    }
    if (!directory->default_prompt_name.empty()) {
      set_prompt_name(recipe, directory->default_prompt_name, where);
    }
  }
  if (chosen) {
    recipe.pooling.modes = overrides.pooling;
  }
  check_widths(recipe, width, chosen, where);
  recipe.pooling.width = width;
  // The library keeps what there is of a longer truncate_dim.
  const std::int64_t cut = directory ? std::min(directory->truncate_dim, whole_width(recipe)) : 0;
  set_dimensions(recipe, overrides.dimensions.value_or(cut), where);
  if (overrides.normalize) {
    set_normalize(recipe, *overrides.normalize);
  }
  set_prompt(recipe, overrides.prompt, overrides.prompt_name, where);
  return recipe;
}

EmbedRecipe with_request(const EmbedRecipe& recipe, const EmbedRequest& request, const std::string& where) {
  EmbedRecipe changed = recipe;
  if (request.dimensions) {
    set_dimensions(changed, *request.dimensions, where);
  }
  if (request.normalize) {
    set_normalize(changed, *request.normalize);
  }
  set_prompt(changed, request.prompt, request.prompt_name, where);
  return changed;
}

std::int64_t whole_width(const EmbedRecipe& recipe) {
  std::int64_t found = recipe.pooling.width * static_cast<std::int64_t>(recipe.pooling.modes.size());
  for (const SentenceModule& module : recipe.modules) {
    found = checkpoint::width_behind(module, found, "the modules");
  }
  return found;
}

std::int64_t width(const EmbedRecipe& recipe) {
  return recipe.dimensions > 0 ? recipe.dimensions : whole_width(recipe);
}

bool is_normalized(const EmbedRecipe& recipe) {
  const auto behind = recipe.modules.begin() + static_cast<std::ptrdiff_t>(end_before_norms(recipe.modules));
  return recipe.normalize || (recipe.dimensions == 0 && std::any_of(behind, recipe.modules.end(), is_normalize));
}

formats::Json applied(const EmbedRecipe& recipe) {
  formats::Json said{{"pooling", names_of(recipe.pooling.modes)}, {"normalized", is_normalized(recipe)}};
  if (!recipe.modules.empty()) {
    said["modules"] = checkpoint::modules_text(recipe.modules);
  }
  if (!recipe.prompt.empty()) {
    said["prompt"] = recipe.prompt;
  }
  said["dimensions"] = width(recipe);
  return said;
}

}  // namespace weft::tasks
