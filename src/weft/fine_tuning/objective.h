// SPDX-License-Identifier: Apache-2.0
// What a head learns from examples and how well it does: one small file a task. The rest (batches, resuming, processes,
// evaluation over rows) is the same for all and lives in encoder_task.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/checkpoint/sentence/cross_encoder.h"
#include "weft/core/progress.h"
#include "weft/fine_tuning/encoded_rows.h"
#include "weft/fine_tuning/labels.h"
#include "weft/fine_tuning/settings.h"
#include "weft/fine_tuning/split.h"
#include "weft/fine_tuning/training_batch.h"
#include "weft/formats/config_json.h"
#include "weft/readers/reader.h"
#include "weft/tasks/documents.h"
#include "weft/tasks/encoder_runner.h"
#include "weft/tasks/task_model.h"

namespace weft::fine_tuning {

/// What an objective is made of. `model` has a tokeniser and a length, but no weights yet.
struct Setup {
  std::filesystem::path directory;  ///< of the model
  tasks::TaskModel model;
  models::EncoderConfig config;
  FineTuningConfig task;
  DataSettings data;
  RetrievalConfig retrieval;
  double label_smoothing = 0.0;
  bool keeps_origins = false;                   ///< of held-out records, for write_predictions()
  checkpoint::CrossEncoderSettings cross = {};  ///< of a model that scores pairs of texts; the usual ones of others
};

/// What reading a split came to.
struct ReadSummary {
  readers::ReadReport records;
  std::int64_t examples = 0;  ///< records of the split: without those of other folds and those that are skipped
  std::int64_t cut = 0;       ///< texts that were longer than the model, with --truncate
  std::int64_t left_out = 0;  ///< tokens of theirs

  /// A text that is an example now, of which so many tokens were cut.
  void note_cut(std::int64_t tokens) {
    cut += tokens > 0 ? 1 : 0;
    left_out += tokens;
  }
};

/// What is to be said of held-out examples besides their figures.
struct Findings {
  /// What `weft eval --json` says besides, label by label for instance; may be empty.
  formats::Json details = formats::Json::object();
  /// Which label is taken for which (review.h); null where a task has no such labels.
  formats::Json confusion;
  /// A sentence where the model says the same of everything although the truth is not the same, with what to do; empty
  /// elsewhere.
  std::string doubt;
  /// A sentence about what the figures leave out; empty where they count everything.
  std::string note;
};

/// What a task learns: **targets** of its examples (read_files, choose_head, fingerprint), a **loss** of what the model
/// gives for them, and **figures** of held-out ones (keep, figures, findings, errors, predictions). The functions
/// behind the line "By default" have what most tasks need.
///
/// The order of calls: read(training), choose_head(), the model is opened with that head, read(held out), then losses
/// and figures. To evaluate a finished model: choose_head(), read(held out). An example is what a batch is made of: a
/// text, one window of a long text, the choices of a question, or a query with its texts.
class Objective {
 public:
  /// What keep() has written of all held-out examples, one behind the other.
  using Kept = std::span<const double>;
  using WriteLine = std::function<void(const formats::Json& line)>;

  /// `head` is the one that learns.
  Objective(Setup setup, models::Head head) : setup_(std::move(setup)), head_(head) {}
  virtual ~Objective() = default;
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;

  models::Head head() const noexcept { return head_; }
  /// Reads and tokenises files into rows(split). With data.folds, held out is the fold data.fold of all records and
  /// trained on are the others. Errors: as the readers'; tasks::UnfitText for a text that is too long.
  ReadSummary read(Split split, const std::vector<std::string>& paths);
  /// Loss of what a model gave for examples of the training split, brought to the CPU, where the targets are: a scalar
  /// with its graph.
  virtual at::Tensor loss(const models::EncoderOutput& output, const TrainingBatch& batch) const = 0;
  /// How many numbers are kept of a held-out example.
  virtual std::int64_t numbers(std::int64_t example) const = 0;
  /// The task's metrics, one flat object.
  virtual formats::Json figures(Kept kept) const = 0;
  virtual Findings findings(Kept kept) const = 0;
  /// At most kMostErrors (review.h) of {"text", "truth", "predicted"} and, where the task has them, "score" and
  /// "question". The text is what the tokens say, shortened.
  virtual formats::Json errors(Kept kept) const = 0;
  /// One line for each held-out record, in the order of the files.
  virtual void predictions(Kept kept, const WriteLine& write) const = 0;
  /// A number that tells two sets of training targets apart.
  virtual std::uint64_t fingerprint() const = 0;

  // By default:

  /// Decides the head from the model's config and the training data read so far: the model's own where it has one, else
  /// a fresh one, without labels.
  virtual HeadChoice choose_head() { return {{}, {}, setup_.config.head() != head_}; }
  /// Lines about what was decided that a user did not say, for people: name and text.
  virtual std::vector<std::pair<std::string, std::string>> remarks() const { return {}; }
  /// What the model gives for rows that input() laid out: what its head says, unless the objective makes something of
  /// its hidden states.
  virtual models::EncoderOutput run(models::EncoderModelImpl& model, const models::EncoderInput& input) const {
    return model.forward(input);
  }
  /// 0: a batch is one input of the model. Above: each row is read by itself, so that a batch goes through run() in
  /// mini-batches of at most so many tokens (mini_batches.h), and loss() and keep() see `logits` [rows, numbers] alone.
  virtual std::int64_t tokens_at_once() const { return 0; }
  /// Whether loss() compares the examples of a batch with each other: a batch has at least two then, of any lengths.
  virtual bool compares_examples() const { return false; }
  /// Leaves that learn beside those of the model, where move_to() put them, and what a directory holds of them and of
  /// everything else that is not the model's: save() writes it, load() takes the leaves' values from it. Errors: as
  /// reading and writing files.
  virtual std::vector<std::pair<std::string, at::Tensor>> parameters() const { return {}; }
  virtual void save(const std::filesystem::path& /*directory*/) const {}
  virtual void move_to(c10::Device /*device*/) {}
  virtual void load(const std::filesystem::path& /*directory*/) {}
  /// What the head chose among, for each choice that the loss is a mean over: logits [choices, options], each list of
  /// choices one part of the loss. A teacher is compared by them; not for regression, which chooses nothing.
  virtual std::vector<at::Tensor> choices(const models::EncoderOutput& output, const TrainingBatch& /*batch*/) const {
    return {output.logits.flatten(0, -2)};
  }
  /// Writes the numbers of an example that are kept, numbers(example) of them, from the model's output: its logits.
  /// Errors: kNumeric where one is not finite.
  virtual void keep(const tasks::WindowOutput& output, std::int64_t example, std::span<double> numbers) const;

  /// Rows that make an example, which a model is given together.
  virtual std::int64_t rows_per_example() const { return 1; }
  /// Rows of an example: those behind each other from `begin` to `end`, which is none of them. Where examples have
  /// different numbers of rows, each row is read by itself, and rows_per_example() is 1.
  struct RowRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  virtual RowRange row_range(Split /*split*/, std::int64_t example) const {
    return {example * rows_per_example(), (example + 1) * rows_per_example()};
  }
  virtual std::int64_t examples(Split split) const { return rows(split).size() / rows_per_example(); }

  /// predictions(), each line with where its record is from before it: "file", "line", "id" of a record that has one,
  /// and its text. Needs setup().keeps_origins.
  void write_predictions(Kept kept, const WriteLine& write) const;
  /// What a report shows of held-out examples besides the figures: the details and the confusion of `found`, and
  /// "errors". One flat object, without text of more than a page.
  formats::Json review(Findings found, Kept kept) const;
  const EncodedRows& rows(Split split) const noexcept { return rows_[split]; }
  /// Tokens of an example as it takes room in a batch: its rows, each as long as the longest.
  std::int64_t length(Split split, std::int64_t example) const;
  /// The rows of examples, one behind the other.
  std::vector<TokenRow> token_rows(Split split, std::span<const std::int64_t> examples) const;
  /// Such rows as the model's input, [examples, longest], or [examples, rows, longest] where they have several rows.
  models::EncoderInput input(std::span<const TokenRow> rows, const Padding& padding) const;
  const Setup& setup() const noexcept { return setup_; }

 protected:
  /// Where a head's labels are from, for messages: the training data, or the config.json of a model that is measured.
  std::string labels_place() const;
  /// The text of a row as its tokens say it, without special ones, shortened.
  std::string row_text(Split split, std::int64_t row) const;
  /// Does what read() says for all records that takes() wants.
  virtual ReadSummary read_files(Split split, const std::vector<std::string>& paths) = 0;
  /// Counts a record, and calls add() where it belongs to the split that is being read. An error of add() is one of a
  /// record that is no example: it must have added nothing.
  void take(Split split, const std::function<void()>& add);
  /// Keeps where a record of the held-out split is from, an object as in write_predictions(); the last that add() does.
  /// `origin` is made only where it is kept.
  void keep_origin(Split split, const std::function<formats::Json()>& origin) {
    if (split == Split::kHeldOut && setup_.keeps_origins) {
      origins_.push_back(origin());
    }
  }
  /// Tokenises texts as one row each, cut where that is allowed, and counts what was cut; all of them or none. Of each
  /// `readings` behind each other, which are one text, the one that lost most counts. Errors: tasks::UnfitText naming
  /// the text.
  void add_rows(Split split, std::span<const tasks::Document> documents, ReadSummary& summary,
                std::size_t readings = 1);
  /// How a text becomes windows, for tasks that read a longer one in several: data.stride, or one window with
  /// data.truncate, whose tokens that are left out go to ReadSummary::note_cut(). `side`: what may be cut.
  tasks::LengthRule window_rule(text::Truncation side) const;
  /// A window that is tokenised already as one row, of which the tokens at `globals`, ascending, are global.
  void add_window(Split split, const text::Encoding& window, std::span<const std::int64_t> globals = {}) {
    tasks::take_note(setup_.model, window, "an example");
    rows_[split].add(window, globals);
  }

 private:
  bool takes(Split split);

  Setup setup_;
  models::Head head_;
  BySplit<EncodedRows> rows_;
  std::vector<formats::Json> origins_;  // of held-out records, where they are kept
  std::uint64_t records_ = 0;           // seen in this reading
  std::int64_t taken_ = 0;              // of these, in the split
  std::optional<ProgressBar> bar_;      // while reading
};

/// A task: its name, the formats that its data may have, the fields of DataSettings that it reads and some other task
/// does not, and what learns it.
struct TaskEntry {
  std::string_view name;
  std::string_view formats;
  std::string_view fields;
  std::unique_ptr<Objective> (*make)(Setup setup);
};
/// Every task.
std::span<const TaskEntry> task_table();

/// The objective of setup.task.task. Errors: kArgument for settings that do not go with it.
std::unique_ptr<Objective> make_objective(Setup setup);

}  // namespace weft::fine_tuning
