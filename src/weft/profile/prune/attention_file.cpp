// SPDX-License-Identifier: Apache-2.0
// Counts of layers and heads are compared here, where the message can name the file.
#include "weft/profile/prune/attention_file.h"

#include "weft/core/error.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/text/number_text.h"
#include "weft/profile/model_digest.h"

namespace weft::profile {
namespace {

std::string named(const AttentionFile& file) { return quote(file.path.string(), 4096); }

std::string shape_in_words(std::int64_t layers, std::int64_t heads) {
  return concat(counted(layers, "layer"), " of ", counted(heads, "head"));
}

}  // namespace

const std::vector<std::string>& AttentionFile::of_stack(std::int64_t layers, std::int64_t heads) const {
  const auto* list = patterns.find("attention");
  require(
      list != nullptr, option("attention"), ": the patterns of ", [&] { return named(*this); },
      " are of an encoder-decoder");
  const auto count = static_cast<std::int64_t>(list->expressions.size());
  require(
      count == layers && list->heads == heads, option("attention"), ": the patterns of ", [&] { return named(*this); },
      " are for ", [&] { return shape_in_words(count, list->heads); }, ", and the model has ",
      [&] { return shape_in_words(layers, heads); }, "; give ", option("layers"), " and ", option("heads"), ", or ",
      option("config"), " with the config.json of the model that was profiled");
  return list->expressions;
}

void AttentionFile::check_list(std::string_view name, std::int64_t layers, std::int64_t heads) const {
  const auto* list = patterns.find(name);
  require(
      list != nullptr, option("attention"), ": the patterns of ", [&] { return named(*this); },
      " are of one stack, without ", name);
  const auto count = static_cast<std::int64_t>(list->expressions.size());
  require(
      count == layers && list->heads == heads, option("attention"), ": ", name, " of ", [&] { return named(*this); },
      " is for ", [&] { return shape_in_words(count, list->heads); }, ", and the model has ",
      [&] { return shape_in_words(layers, heads); });
}

std::filesystem::path AttentionFile::graphs() const {
  return patterns.directory.empty() ? std::filesystem::path(".") : patterns.directory;
}

std::optional<AttentionFile> attention_file(const std::vector<std::string>& attention) {
  if (attention.size() != 1 || !attention.front().starts_with('@')) {
    return std::nullopt;
  }
  const std::filesystem::path path = attention.front().substr(1);
  return AttentionFile{path, read_prune(path)};
}

std::optional<AttentionFile> take_attention_file(formats::Json& fields, bool for_pairs) {
  if (!fields.contains("attention") || !fields["attention"].is_array()) {
    return std::nullopt;
  }
  std::optional<AttentionFile> file = attention_file(fields["attention"].get<std::vector<std::string>>());
  if (!file) {
    return std::nullopt;
  }
  const bool is_of_pairs = file->patterns.find("cross_attention") != nullptr;
  require(
      is_of_pairs == for_pairs, option("attention"), ": the patterns of ", [&] { return named(*file); }, " are of ",
      is_of_pairs ? "an encoder-decoder, and the task trains one stack"
                  : "one stack, and the task trains an encoder-decoder");
  fields.erase("attention");
  for (const PrunedPatterns::List& list : file->patterns.lists) {
    fields[list.name] = list.expressions;
  }
  return file;
}

void warn_of_other_model(const AttentionFile& file, const std::filesystem::path& directory) {
  if (model_digest(directory) != file.patterns.model_digest) {
    log_warning("the patterns of ", named(file), " were made for another model than that of ",
                quote(directory.string(), 4096), ", whose attention may go elsewhere");
  }
}

}  // namespace weft::profile
