// SPDX-License-Identifier: Apache-2.0
// Everything small is checked before the weights are read.
#include "weft/tasks/task_model.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/process_rank.h"

namespace weft::tasks {
namespace {

void require_head(const models::EncoderConfig& config, models::Head needed, const std::string& name) {
  const models::Head found = config.head(name + ": architectures");
  if (found == needed) {
    return;
  }
  std::string architecture;
  if (!config.architectures.empty()) {
    architecture = concat(" (", quote(config.architectures.front()), ")");
  }
  const std::string has = found == models::Head::kNone ? "no head" : concat("the head ", models::to_string(found));
  throw Error(
      ErrorKind::kArgument,
      concat(name, ": this task needs the head ", models::to_string(needed), ", but the model has ", has, architecture),
      "weft info shows what a directory holds");
}

// transformers passes types to the models whose tokeniser class has them, unless tokenizer_config.json says otherwise.
bool passes_types(const checkpoint::ReadingFacts& model, const text::HuggingFaceTokenizer& tokenizer) {
  return model.token_types > 1 && tokenizer.type_ids().value_or(model.passes_types);
}

std::int64_t longest_input(const checkpoint::ReadingFacts& facts, const text::HuggingFaceTokenizer& tokenizer,
                           std::int64_t wanted, const std::string& name) {
  const std::int64_t model = facts.longest;
  require(wanted <= model, name, ": a length of ", wanted, " is more than the ", model, " tokens that the model takes");
  const std::int64_t named = tokenizer.maximum_length();
  return wanted > 0 ? wanted : named > 0 && named < model ? named : model;
}

}  // namespace

std::string product_type(const TaskModel& task) { return task.dtype == at::kBFloat16 ? "bfloat16" : task.products; }

void take_note(const TaskModel& task, const text::Encoding& encoding, const std::string& where) {
  const auto largest = std::max_element(encoding.ids.begin(), encoding.ids.end());
  if (largest != encoding.ids.end() && *largest >= task.rows) {
    fail(ErrorKind::kFormat, where, ": the token ", quote(task.tokenizer->token(*largest)), " has the id ", *largest,
         ", but the model of ", task.name, " has ", task.rows, " rows: the tokeniser belongs to another model");
  }
  const auto type = std::max_element(encoding.type_ids.begin(), encoding.type_ids.end());
  if (task.type_ids && type != encoding.type_ids.end() && *type >= task.types) {
    fail(ErrorKind::kFormat, where, ": the tokeniser of ", task.name, " gives a token the type (token_type_ids) ",
         *type, ", but type_vocab_size of its config.json is ", task.types);
  }
  task.unknown->add(encoding.ids, encoding.special_mask);
}

TaskModel describe_task_model(const checkpoint::OpenedModel& directory, const TaskModelOptions& options) {
  TaskModel task;
  task.name = quote(directory.path().native(), 4096);
  const checkpoint::ReadingFacts facts = directory.facts(checkpoint::Ability::kRead).reads;
  task.tokenizer = std::make_shared<text::HuggingFaceTokenizer>(directory.path());
  task.unknown = std::make_shared<text::UnknownTokens>(*task.tokenizer, task.name);
  task.rows = facts.vocabulary;
  task.types = facts.token_types;
  if (is_first_process()) {
    text::warn_of_small_vocabulary(*task.tokenizer, task.rows, task.name);
  }
  task.maximum = longest_input(facts, *task.tokenizer, options.max_length, task.name);
  task.longest = facts.longest;
  task.type_ids = passes_types(facts, *task.tokenizer);
  task.dtype = options.dtype;
  task.products = options.products;
  return task;
}

TaskModel describe_task_model(const std::filesystem::path& directory, const TaskModelOptions& options) {
  return describe_task_model(checkpoint::open_model(directory), options);
}

TaskModel open_task_model(const std::filesystem::path& directory, const TaskModelOptions& options) {
  return open_task_model(checkpoint::open_model(directory), options);
}

TaskModel open_task_model(const checkpoint::OpenedModel& directory, const TaskModelOptions& options) {
  if (options.head) {
    directory.prefer(*options.head);
    require_head(checkpoint::load_encoder_config(directory), *options.head, quote(directory.path().native(), 4096));
  }
  TaskModel task = describe_task_model(directory, options);
  checkpoint::EncoderLoadOptions load;
  load.head = options.head;
  load.encoder = options.encoder;
  load.dtype = options.dtype;
  load.int8 = options.int8;
  load.check_finite = options.check_finite;
  task.model = checkpoint::load_encoder(directory, load);
  return task;
}

}  // namespace weft::tasks
