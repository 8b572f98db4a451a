// SPDX-License-Identifier: Apache-2.0
// `weft index`: texts into a store, and vectors of them.
#include <filesystem>
#include <iostream>
#include <memory>
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
#include "weft/core/text/number_text.h"
#include "weft/store/store_writer.h"
#include "weft/store/texts/corpus_reader.h"
#include "weft/tasks/search/passage_vectors.h"

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
    visit(Field{"on_error", &C::on_error, "what to do with a malformed record; skip counts it and goes on"}.one_of(
        {"fail", "skip"}));
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

void put_texts(store::StoreWriter& writer, const IndexCommand& command, const IndexConfig& config,
               std::int64_t& skipped) {
  constexpr std::int64_t kTextsAtOnce = 1000;
  constexpr std::size_t kBytesAtOnce = 32 << 20;
  store::CorpusReader reader(
      command.files,
      {.format = config.format, .text_field = config.text_field, .skip_malformed = config.on_error == "skip"});
  ProgressBar bar("texts", 0);
  std::int64_t texts = 0;
  std::size_t bytes = 0;
  for (store::CorpusText text; reader.next(text);) {
    writer.put(text, length_of(text, config.passage_length));
    bytes += text.text.size();
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
  skipped = reader.report().skipped;
  if (skipped > 0) {
    log_warning("left out ", counted(skipped, "malformed record"), ", the first of which is ",
                reader.report().first_skipped);
  }
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

void add_vectors(store::Store& store, const std::string& model, const IndexCommand& command,
                 const IndexConfig& config) {
  const checkpoint::OpenedModel opened = checkpoint::open_model(model);
  tasks::TaskModelOptions options =
      tasks::model_options(encoder_settings(command.encoder, "weft index", opened.root()));
  options.max_length = config.max_length;
  tasks::Embedder embedder = tasks::open_embedder(opened, options);
  const store::VectorSpace space = tasks::vector_space_of(embedder, opened, model);
  if (!config.rebuild) {
    tasks::check_same_model(store, space);
  }
  store.set_vector_space(space, config.rebuild);
  const store::StoreFacts facts = store.facts();
  const std::int64_t missing = facts.passages - facts.vectors;
  ProgressBar bar("vectors", static_cast<double>(missing));
  const tasks::EmbedRun run{.run = {.truncate = config.truncate, .batch = {.rows = config.batch_size}}};
  const std::int64_t computed = tasks::add_passage_vectors(store, embedder, run, [&](std::int64_t done) {
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

void check_index(const IndexCommand& command, const IndexConfig& config) {
  if (config.sync && command.files.empty()) {
    throw UsageError("--sync needs files: a store without any of its texts would be left");
  }
}

// A folder that is empty by mistake costs the user every text and vector otherwise.
void check_sync(store::Store& store, const store::WriteCounts& counts) {
  const std::int64_t had = store.facts().texts;
  if (counts.added + counts.updated + counts.unchanged == 0 && had > 0) {
    fail(ErrorKind::kArgument, store.name(), ": --sync would take out all its texts (", digits(had),
         "), since the files have none");
  }
}

void run_index(const IndexCommand& command) {
  IndexConfig config;
  formats::update_from_json(config, command.given, "weft index");
  check_index(command, config);
  const InterruptGuard guard(SecondInterrupt::kWaits);
  store::Store store(command.store, command.files.empty() ? store::Access::kWrite : store::Access::kCreate,
                     {.stem = config.stem});
  if (command.given.contains("stem") && store.words().stem != config.stem) {
    throw UsageError(concat(store.name(), ": the words of this store were made with --stem ", store.words().stem),
                     "another choice needs a new store");
  }
  store::WriteCounts counts;
  std::int64_t skipped = 0;
  {
    store::StoreWriter writer(store);
    if (!command.files.empty()) {
      put_texts(writer, command, config, skipped);
    }
    for (const std::string& id : config.remove) {
      if (!writer.remove(id)) {
        fail(ErrorKind::kArgument, store.name(), ": there is no text ", quote(id), " to remove");
      }
    }
    if (config.sync) {
      check_sync(store, writer.counts());
      writer.remove_others();
    }
    writer.commit();
    counts = writer.counts();
  }
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
