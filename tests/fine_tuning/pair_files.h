// SPDX-License-Identifier: Apache-2.0
// Two aligned files of sentences, and small runs over them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "data/text_files.h"
#include "support/temporary_directory.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/random.h"
#include "weft/fine_tuning/pairs/pair_run.h"
#include "weft/text/pair/word_ids.h"

namespace weft::test {

// Forty sentences whose words stand in the other order in the target, of 1 to 8 words.
class PairFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::string> words = {"tree", "house", "river", "cloud", "stone", "bird"};
    std::string source;
    std::string target;
    for (std::uint64_t line = 0; line < 40; ++line) {
      std::string backwards;
      for (std::uint64_t place = 0; place <= random_below(random_bits(line, 99), 8); ++place) {
        const std::string& word = words[random_below(random_bits(line, place), words.size())];
        source.append(place == 0 ? "" : " ").append(word);
        backwards.insert(0, backwards.empty() ? "" : " ").insert(0, word);
      }
      source += '\n';
      target.append(backwards).append(1, '\n');
    }
    write_text(folder_ / "source.txt", source);
    write_text(folder_ / "target.txt", target);
  }

  // A file of what the words of every pair are: those of the source from the last to the first.
  formats::Json alignments() const {
    std::string lines;
    std::istringstream sources(read_file(folder_ / "source.txt"));
    for (std::string source; std::getline(sources, source);) {
      const auto words = std::ssize(text::words_between_blanks(source));
      for (std::int64_t word = 0; word < words; ++word) {
        lines += concat(word == 0 ? "" : " ", word, "-", words - 1 - word);
      }
      lines += '\n';
    }
    write_text(folder_ / "links.txt", lines);
    return {(folder_ / "links.txt").string()};
  }

  formats::Json fields() const {
    const formats::Json source = {(folder_ / "source.txt").string()};
    const formats::Json target = {(folder_ / "target.txt").string()};
    return {{"task", "translate"},    {"train_source", source},   {"train_target", target},
            {"eval_source", source},  {"eval_target", target},    {"hidden_size", 16},
            {"num_hidden_layers", 1}, {"num_attention_heads", 2}, {"intermediate_size", 24},
            {"vocabulary_size", 280}, {"batch_tokens", 64},       {"steps", 12},
            {"checkpoint_every", 4},  {"keep_checkpoints", 10},   {"eval_every", 6},
            {"dropout", 0.2},         {"dtype", "float32"},       {"threads", 1}};
  }
  training::TrainResult train(const formats::Json& fields, const std::string& run = "run") const {
    return fine_tuning::train_pairs(folder_ / run, fine_tuning::prepare_pairs(fields, {}, {}, "test"));
  }
  // As a process that SIGKILL ended leaves its run.
  void leave_at_checkpoint(const std::string& run, std::int64_t step) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / run / "checkpoints")) {
      if (std::stoll(entry.path().filename().string().substr(5)) > step) {
        std::filesystem::remove_all(entry.path());
      }
    }
  }

  TemporaryDirectory folder_;
};

}  // namespace weft::test
