// SPDX-License-Identifier: Apache-2.0
// `weft index`: texts into a store, and vectors of them.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/checkpoint/open_model.h"
#include "weft/cli/commands/tensor_commands.h"
#include "weft/cli/front/failure.h"
#include "weft/cli/front/field_flags.h"
#include "weft/cli/front/help.h"
#include "weft/cli/front/model_argument.h"
#include "weft/cli/front/output.h"
#include "weft/cli/tasks/encoder_flags.h"
#include "weft/core/interrupt.h"
#include "weft/core/log.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/text/number_text.h"
#include "weft/formats/field_conditions.h"
#include "weft/store/store_writer.h"
#include "weft/store/texts/corpus_reader.h"
#include "weft/tasks/search/passage_vectors.h"
#include "weft/text/utf8.h"

namespace weft::cli {
namespace {

using formats::Json;

constexpr const char* kIndexExamples =
    "  weft index notes.weft notes/\n"
    "  weft index scifact.weft scifact/ --stem english --model all-MiniLM-L6-v2\n"
    "  weft index news.weft news.jsonl --text-field body --passage-length 1000 --json\n"
    "  weft index notes.weft notes/ --sync\n"
    "  weft index notes.weft --remove old.txt";

struct IndexConfig {
  std::string format = "auto";
  std::string text_field;
  std::int64_t passage_length = -1;
  std::string stem = "none";
  bool sync = false;
  std::vector<std::string> remove;
  std::string on_error = "fail";
  bool rebuild = false;
  std::int64_t max_length = 0;
  bool truncate = false;
  std::int64_t batch_size = 32;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = IndexConfig;
    visit(Field{"format", &C::format,
                "format of the files; auto goes by what stands in each file, then by its name, and a file of text is "
                "one text; with lines each line is one"}
              .one_of({"auto", "lines", "jsonl", "json", "csv", "tsv", "fasta"}));
    visit(Field{"text_field", &C::text_field,
                "column or JSON field of the text; without it text, sentence, sequence, review or content"});
    visit(Field{"passage_length", &C::passage_length,
                "characters of a passage at most: long texts are cut between sentences; 0 leaves each text whole, and "
                "-1 is 1,500 where a file is one text, and 0 for records"}
              .at_least(-1));
    visit(Field{"stem", &C::stem, "of a new store: whether words are found by their stems, by Porter's rules"}.one_of(
        {"none", "english"}));
    visit(Field{"sync", &C::sync, "take out the texts that the files do not have any more"});
    visit(Field{"remove", &C::remove, "ids of texts to take out"});
    visit(Field{"on_error", &C::on_error,
                "what to do with a malformed record, or a file that holds no text; skip counts it and goes on"}
              .one_of({"fail", "skip"}));
    visit(Field{"rebuild", &C::rebuild, "compute all vectors anew, with another model or the same"});
    visit(Field{"max_length", &C::max_length,
                "longest window in tokens that the model reads; 0 for the longest that it takes"}
              .at_least(0));
    visit(
        Field{"truncate", &C::truncate, "cut passages that are too long for the model; else they are read in windows"});
    visit(Field{"batch_size", &C::batch_size, "passages that are computed together"}.range(1, 1 << 16));
  }
};

struct IndexCommand {
  std::string store;
  std::vector<std::string> files;
  std::string model;
  EncoderFlags encoder;
  Json given = Json::object();
  bool json = false;
};

// How the texts of a run are cut.
std::int64_t length_of(const store::CorpusText& text, std::int64_t asked) {
  constexpr std::int64_t kUsualLength = 1500;
  return asked >= 0 ? asked : text.whole ? kUsualLength : 0;
}

[[noreturn]] void end_interrupted(const std::string& store) {
  throw Error(ErrorKind::kInterrupted, concat("stopped; ", store, " is whole, and the same command goes on"));
}

// The texts of a run. The first is read before a store is made, so that files that cannot be read leave none behind.
struct RunTexts {
  RunTexts(const IndexCommand& command, const IndexConfig& config)
      : reader(command.files, {.format = config.format,
                               .text_field = config.text_field,
                               .skip_malformed = config.on_error == "skip",
                               .store = command.store}),
        more(reader.next(text)) {}
  store::CorpusReader reader;
  store::CorpusText text;
  bool more;
};

// Texts without a letter are in the store, and no question finds them: more likely a mistake than a wish.
struct EmptyTexts {
  std::int64_t count = 0;
  std::string first;

  void take(const store::CorpusText& text) {
    if (text::strip_left(text.text).empty() && text.title.empty() && ++count == 1) {
      first = text.where;
    }
  }
  void warn() const {
    if (count > 0) {
      log_warning(counted(count, "text"), count == 1 ? " is" : " are", " empty and cannot be found",
                  count == 1 ? ": " : ", the first of which is ", first);
    }
  }
};

// Returns how many records were left out.
std::int64_t put_texts(store::StoreWriter& writer, RunTexts& run, const IndexCommand& command,
                       const IndexConfig& config) {
  constexpr std::int64_t kTextsAtOnce = 1000;
  constexpr std::size_t kBytesAtOnce = 32 << 20;
  ProgressBar bar("texts", 0);
  std::int64_t texts = 0;
  std::size_t bytes = 0;
  EmptyTexts empty;
  for (; run.more; run.more = run.reader.next(run.text)) {
    empty.take(run.text);
    writer.put(run.text, length_of(run.text, config.passage_length));
    bytes += run.text.text.size();
    ++texts;
    bar.update(static_cast<double>(texts), concat(digits(texts), " texts"));
    if (texts % kTextsAtOnce == 0 || bytes >= kBytesAtOnce) {
      writer.commit();
      bytes = 0;
    }
    if (interrupted()) {
      writer.commit();
      end_interrupted(quote(command.store, 4096));
    }
  }
  empty.warn();
  const std::int64_t skipped = run.reader.report().skipped;
  if (skipped > 0) {
    log_warning("left out ", counted(skipped, "malformed record"), ", the first of which is ",
                run.reader.report().first_skipped);
  }
  return skipped;
}

// The model whose vectors the store gets: the one that was named, or the one of its vectors where there are some to
// compute.
std::string embedder_of_store(store::Store& store, const IndexCommand& command, bool rebuild) {
  if (!command.model.empty()) {
    std::error_code ignored;
    const std::filesystem::path whole = std::filesystem::absolute(command.model, ignored);
    return ignored ? command.model : whole.lexically_normal().string();
  }
  const std::optional<store::VectorSpace> space = store.vector_space();
  const store::StoreFacts facts = store.facts();
  return space && (rebuild || facts.vectors < facts.passages) ? space->model : std::string();
}

// How the model reads passages: as it read those whose vectors are there. Errors: UsageError where the flags say
// another way, unless all vectors are computed anew.
store::Reading reading_of(store::Store& store, const IndexCommand& command, const IndexConfig& config) {
  store::Reading asked{.max_length = config.max_length, .truncate = config.truncate};
  const std::optional<store::VectorSpace> space = store.vector_space();
  if (config.rebuild || !space) {
    return asked;
  }
  const store::Reading& before = space->reading;
  if ((command.given.contains("max_length") && asked.max_length != before.max_length) ||
      (command.given.contains("truncate") && asked.truncate != before.truncate)) {
    throw UsageError(concat(store.name(), ": the vectors of this store were made with --max-length ", before.max_length,
                            before.truncate ? " and --truncate" : " and without --truncate"),
                     "--rebuild computes all of them anew");
  }
  return before;
}

void add_vectors(store::Store& store, const std::string& model, const IndexCommand& command,
                 const IndexConfig& config) {
  const checkpoint::OpenedModel opened = checkpoint::open_model(model);
  const tasks::TaskModelOptions options =
      tasks::model_options(encoder_settings(command.encoder, "weft index", opened.root()));
  tasks::PassageEmbedder embedder =
      tasks::open_passage_embedder(opened, options, reading_of(store, command, config), {.rows = config.batch_size});
  const store::VectorSpace space = tasks::vector_space_of(embedder, opened, model);
  if (!config.rebuild) {
    tasks::check_same_model(store, space);
  }
  store.set_vector_space(space, config.rebuild);
  const store::StoreFacts facts = store.facts();
  const std::int64_t missing = facts.passages - facts.vectors;
  ProgressBar bar("vectors", static_cast<double>(missing));
  const std::int64_t computed = tasks::add_passage_vectors(store, embedder, [&](std::int64_t done) {
    bar.update(static_cast<double>(done));
    return !interrupted();
  });
  bar.finish();
  if (computed < missing && interrupted()) {
    end_interrupted(store.name());
  }
}

void print_index(store::Store& store, const IndexCommand& command, const store::WriteCounts& counts,
                 std::int64_t skipped) {
  const store::StoreFacts facts = store.facts();
  const std::optional<store::VectorSpace> space = store.vector_space();
  if (command.json) {
    Json result = {{"store", command.store},        {"texts", facts.texts},      {"passages", facts.passages},
                   {"vectors", facts.vectors},      {"added", counts.added},     {"updated", counts.updated},
                   {"unchanged", counts.unchanged}, {"removed", counts.removed}, {"skipped", skipped}};
    if (space) {
      result["model"] = space->model;
      result["width"] = space->width;
    }
    print_json(result);
    return;
  }
  std::cout << counted(counts.added, "text") << " added, " << digits(counts.updated) << " updated, "
            << digits(counts.unchanged) << " unchanged, " << digits(counts.removed) << " removed\n"
            << quote(command.store, 4096) << ": " << counted(facts.texts, "text") << ", "
            << counted(facts.passages, "passage");
  if (space) {
    std::cout << ", " << counted(facts.vectors, "vector") << " of " << digits(space->width) << " numbers";
  }
  std::cout << '\n';
}

// The first of `fields` that was given and asks for something.
std::optional<std::string> first_given(const Json& given, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    if (given.contains(field) && formats::is_set(given.at(field))) {
      return field;
    }
  }
  return std::nullopt;
}

// Errors: UsageError for a flag of the model's work where no model makes vectors.
void check_model_flags(const IndexCommand& command, bool has_model) {
  if (has_model) {
    return;
  }
  std::optional<std::string> found = first_given(command.given, {"rebuild", "max_length", "truncate", "batch_size"});
  found = found ? found : first_model_flag(command.encoder);
  if (found) {
    throw UsageError(
        concat(option(*found), " is for the model that makes vectors, and ", quote(command.store, 4096), " has none"),
        "leave it out, or give --model");
  }
}

void check_index(const IndexCommand& command, const IndexConfig& config) {
  if (command.files.empty()) {
    const auto found = first_given(command.given, {"format", "text_field", "passage_length", "on_error"});
    if (found) {
      throw UsageError(concat(option(*found), " says how files are read, and there are none"),
                       "leave it out, or name files");
    }
  }
  std::error_code ignored;
  if (!std::filesystem::exists(command.store, ignored)) {
    check_model_flags(command, !command.model.empty());
  }
  if (config.sync && command.files.empty()) {
    throw UsageError("--sync needs files: a store without any of its texts would be left");
  }
}

// A folder that is empty by mistake costs the user every text and vector otherwise, and so does a text that could not
// be read this time.
void check_sync(store::Store& store, const store::WriteCounts& counts, std::int64_t skipped) {
  if (skipped > 0) {
    throw Error(ErrorKind::kArgument,
                concat(store.name(), ": --sync takes out nothing, since ", counted(skipped, "malformed record"),
                       " may be among its texts; all others are in it now"),
                "mend the files, or leave out --sync");
  }
  const std::int64_t had = store.facts().texts;
  if (counts.added + counts.updated + counts.unchanged == 0 && had > 0) {
    fail(ErrorKind::kArgument, store.name(), ": --sync would take out all its texts (", digits(had),
         "), since the files have none");
  }
}

// Texts into the store, and out of it.
store::WriteCounts change_texts(store::Store& store, std::optional<RunTexts>& texts, const IndexCommand& command,
                                const IndexConfig& config, std::int64_t& skipped) {
  store::StoreWriter writer(store);
  if (texts) {
    skipped = put_texts(writer, *texts, command, config);
  }
  for (const std::string& id : config.remove) {
    if (!writer.remove(id)) {
      fail(ErrorKind::kArgument, store.name(), ": there is no text ", quote(id), " to remove");
    }
  }
  if (config.sync) {
    if (skipped > 0) {
      writer.commit();
    }
    check_sync(store, writer.counts(), skipped);
    writer.remove_others();
  }
  writer.commit();
  return writer.counts();
}

// More likely a wrong path than a wish for a store without texts. What --sync would take out of a store is said later.
void need_a_text(const IndexCommand& command, const IndexConfig& config, const RunTexts& texts) {
  std::error_code ignored;
  const bool takes_out = config.sync && std::filesystem::exists(command.store, ignored);
  if (texts.more || takes_out || texts.reader.report().skipped > 0) {
    return;
  }
  const auto others = static_cast<std::int64_t>(command.files.size()) - 1;
  fail(ErrorKind::kIo, quote(command.files.front(), 4096),
       others > 0 ? concat(" and ", counted(others, "other path"), " hold") : " holds",
       " no text: expected files of text, JSON, tables or FASTA, or folders of them");
}

void run_index(const IndexCommand& command) {
  IndexConfig config;
  formats::update_from_json(config, command.given, "weft index");
  check_index(command, config);
  const InterruptGuard guard(SecondInterrupt::kWaits);
  std::optional<RunTexts> texts;
  if (!command.files.empty()) {
    texts.emplace(command, config);
    need_a_text(command, config, *texts);
  }
  store::Store store(command.store, texts ? store::Access::kCreate : store::Access::kWrite, {.stem = config.stem});
  if (command.given.contains("stem") && store.words().stem != config.stem) {
    throw UsageError(concat(store.name(), ": the words of this store were made with --stem ", store.words().stem),
                     "another choice needs a new store");
  }
  check_model_flags(command, !command.model.empty() || store.vector_space().has_value());
  reading_of(store, command, config);
  std::int64_t skipped = 0;
  const store::WriteCounts counts = change_texts(store, texts, command, config, skipped);
  if (const std::string model = embedder_of_store(store, command, config.rebuild); !model.empty()) {
    add_vectors(store, model, command, config);
  }
  print_index(store, command, counts, skipped);
}

}  // namespace

void add_index(CLI::App& parent) {
  auto command = std::make_shared<IndexCommand>();
  CLI::App& app = add_command(parent, "index", kIndexExamples);
  app.add_option("STORE", command->store, "the file of the store, which is made where it is not there")->required();
  app.add_option("FILE", command->files,
                 "files and folders of texts: text, JSON, tables, FASTA, folders of BEIR; plain or gzip");
  add_model_argument(app, "--model", command->model,
                     "model that makes vectors of passages and questions; without it that of the store's vectors, or "
                     "none");
  add_fields<IndexConfig>(app, {.title = "Options"}, command->given);
  add_encoder_flags(app, command->encoder);
  add_json_flag(app, command->json);
  app.callback([command] { run_index(*command); });
}

}  // namespace weft::cli
