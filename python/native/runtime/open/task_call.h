// SPDX-License-Identifier: Apache-2.0
// A call of a task from Python, and the tasks that there are. A task's file has a function of this shape: texts and
// settings in, what the command of the same name prints as "result" and "metadata" out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opened.h"
#include "weft/formats/config_json.h"
#include "weft/tasks/documents.h"
#include "weft/tasks/parameters/text_run.h"
#include "weft/tasks/task_run.h"

namespace weft::python {

struct TaskCall {
  std::string task;                                          ///< its name in Python, for messages
  std::vector<tasks::Document> documents;                    ///< named by their places: "text 1"
  formats::Json given;                                       ///< the settings that were given, an object of fields
  std::function<bool(const std::string& piece)> takes = {};  ///< hears a text as it is written; false ends it
};

/// Sets the fields of several configs, which have no name in common. Errors: kFormat for a setting that none of them
/// has; kArgument.
template <typename... Configs>
void read_given(const TaskCall& call, Configs&... configs) {
  formats::update_each_from_json(call.given, call.task, configs...);
}

/// Whether a task goes over long texts in windows.
enum class Windows : std::uint8_t { kNone, kHas };

/// How texts are run, and the task's own fields. Errors: as read_given(); kArgument for max_length, which is said when
/// a model is opened, and for a stride without windows.
template <typename... Configs>
tasks::RunOptions read_run(const TaskCall& call, Windows windows, Configs&... configs) {
  require(!call.given.contains("max_length"), call.task, ": max_length belongs to the model: give it to open");
  require(windows == Windows::kHas || !call.given.contains("stride"), call.task,
          ": stride is of windows, and each text is read whole here; leave it out");
  tasks::TextRunConfig run;
  read_given(call, run, configs...);
  return tasks::run_options(run);
}

using Results = std::vector<tasks::TaskResult>;

Results answer(Opened& model, const TaskCall& call);
Results choose(Opened& model, const TaskCall& call);
Results chunk(Opened& model, const TaskCall& call);
Results classify(Opened& model, const TaskCall& call);
Results fill_mask(Opened& model, const TaskCall& call);
Results generate(Opened& model, const TaskCall& call);
Results rerank(Opened& model, const TaskCall& call);
Results restore(Opened& model, const TaskCall& call);
Results score(Opened& model, const TaskCall& call);
Results summarize(Opened& model, const TaskCall& call);
Results tag(Opened& model, const TaskCall& call);
Results translate(Opened& model, const TaskCall& call);

/// A row of numbers for each text, or for each of its tokens.
struct Vectors {
  std::vector<at::Tensor> rows;  ///< float32
  std::vector<formats::Json> metadata;
};

/// One tensor [texts, width].
Vectors embed(Opened& model, const TaskCall& call);
/// A tensor [tokens, width] for each text.
Vectors encode(Opened& model, const TaskCall& call);

}  // namespace weft::python
