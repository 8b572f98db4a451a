// SPDX-License-Identifier: Apache-2.0
// What a profile is of: a model, and a text, records, or pairs of texts, as the model takes them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "weft/checkpoint/open_model.h"
#include "weft/core/fields.h"
#include "weft/readers/input/input_texts.h"
#include "weft/tasks/profile/profile_units.h"

namespace weft::tasks {

/// What is read.
struct ProfileTexts {
  std::vector<std::string> text;
  std::string data;
  std::string source;
  std::string target;
  std::string format = "auto";
  std::string text_field;
  std::string pair_field;
  std::int64_t context = 0;
  std::int64_t memory = -1;
  std::int64_t max_bytes = 0;
  std::int64_t examples = 0;
  bool truncate = false;
  std::int64_t stride = -1;
  std::int64_t batch_size = 8;
  std::int64_t batch_tokens = 16384;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = ProfileTexts;
    visit(Field{"text", &C::text, "text for a decoder or an encoder: files and folders, in this order"});
    visit(
        Field{"data", &C::data,
              "records for an encoder (lines, JSON lines, tables, questions in the JSON of SQuAD), or with two fields "
              "for an encoder-decoder; - is standard input"});
    visit(Field{"source", &C::source, "for an encoder-decoder: file of texts, one a line"});
    visit(Field{"target", &C::target, "their translations or summaries: line N belongs to line N of --source"});
    visit(Field{"format", &C::format, "format of --data; auto goes by what stands in it, then by its name"}
              .one_of({readers::kInputFormats.begin(), readers::kInputFormats.end()})
              .only_with_any({"data"}));
    visit(Field{"text_field", &C::text_field, "column or JSON field of the text in --data"}.only_with_any({"data"}));
    visit(Field{"pair_field", &C::pair_field,
                "column or JSON field of the second text in --data, for records of two texts"}
              .only_with_any({"data"}));
    visit(
        Field{"context", &C::context, "tokens that the model reads at once; 0 for as many as it was made for"}.at_least(
            0));
    visit(Field{"memory", &C::memory,
                "tokens before a segment that a decoder with attention `relative` or `span` remembers; -1 for as many "
                "as it learned with"}
              .range(-1, 1 << 30)
              .only_with_any({"text"}));
    visit(Field{"max_bytes", &C::max_bytes, "bytes of --text to read; 0 for all"}.at_least(0).only_with_any({"text"}));
    visit(Field{"examples", &C::examples, "records or pairs to read; 0 for all"}.at_least(0).only_with_any(
        {"data", "source"}));
    visit(Field{"truncate", &C::truncate, "cut pairs of texts that are too long for the model"}.only_with_any(
        {"data", "source"}));
    visit(Field{"stride", &C::stride,
                "tokens that two windows of a document share under a question of SQuAD; -1 for a quarter of the "
                "context, 128 at most"}
              .range(-1, 1 << 24)
              .only_with_any({"data"}));
    visit(Field{"batch_size", &C::batch_size, "records that are computed together"}.range(1, 1 << 16));
    visit(Field{"batch_tokens", &C::batch_tokens, "tokens that are computed together at most, padding included"}.range(
        1, 1 << 30));
  }
};

/// A model and its texts, opened.
struct ProfileInput {
  std::string kind;  ///< as profile::ModelOrigin has it
  std::shared_ptr<torch::nn::Module> model;
  std::unique_ptr<ProfileUnits> units;
};

/// Errors: UsageError for texts of another form than the model of `directory` takes; those of the model, its tokeniser
/// and the files.
ProfileInput open_profile_input(const checkpoint::OpenedModel& directory, const ProfileTexts& texts);

}  // namespace weft::tasks
