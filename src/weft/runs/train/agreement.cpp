// SPDX-License-Identifier: Apache-2.0
// What follows from files is compared once they are read, by the trainer.
#include "weft/runs/train/agreement.h"

#include <torch/version.h>

#include <string>

#include "weft/checkpoint/attention_files.h"
#include "weft/core/disk/digest.h"
#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/core/system/option_name.h"
#include "weft/core/version.h"
#include "weft/formats/json_members.h"
#include "weft/profile/model_digest.h"
#include "weft/training/processes/agreement.h"
#include "weft/training/processes/process_group.h"
#include "weft/training/run/shared_terms.h"

namespace weft::runs {
namespace {

using formats::Json;

// The directory that a field names, as its digest.
void add_directory(Json& terms, const Json& fields, std::string_view field) {
  const auto path = formats::value_or(fields, field, "weft train", std::string());
  if (!path.empty()) {
    terms[concat("a ", option(field), " of digest")] = profile::model_digest(path);
  }
}

// The files of graphs that attention expressions name, edges("graph.npy"), by their content.
void add_graphs(Json& terms, const TrainRequest& request) {
  for (const pattern::PatternFile& graph : checkpoint::named_graphs(request.fields, request.beside)) {
    terms[concat("the graph ", quote(graph.name), " of digest")] = digest_of(graph.content);
  }
}

}  // namespace

void agree_on_request(const TrainOptions& options, const std::vector<TrainRequest>& requests) {
  if (training::processes().is_alone()) {
    return;
  }
  const TrainRequest& request = requests.front();
  Json terms = {{"weft", kVersion},
                {"LibTorch", TORCH_VERSION},
                {concat(option("task")), request.task},
                {concat(option("resume")), options.resume},
                {concat(option("seeds")), options.seeds}};
  if (options.seeds > 1) {  // some may be there in the folder of one process only
    for (const TrainRequest& one : requests) {
      terms[concat("runs of ", option("seeds"), " that go on")].push_back(is_resumed(one.training));
    }
  }
  for (const auto& [name, value] : request.fields.items()) {
    if (training::is_shared_setting(name)) {
      // Names with an underscore become flags where the error is printed (spoken_flags.h), which knows short forms.
      terms[name.find('_') == std::string::npos ? concat(option(name)) : name] = value;
    }
  }
  if (!is_resumed(request.training)) {  // a run has its model in itself, and knows its teacher
    add_directory(terms, request.fields, "model");
    add_directory(terms, request.fields, "distill");
  }
  add_graphs(terms, request);
  training::require_agreement(terms);
}

}  // namespace weft::runs
