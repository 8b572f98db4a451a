// SPDX-License-Identifier: Apache-2.0
// Training that begins with an encoder-decoder's directory: every family with its own tokeniser, resumed to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/zeros_like.h>

#include "fine_tuning/pair_files.h"
#include "support/expect_error.h"
#include "training/fake_task.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/core/files.h"
#include "weft/models/families/pair_rules.h"
#include "weft/text/train_tokenizer.h"

namespace weft::fine_tuning {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* kSearch = "{\"num_beams\": 3, \"max_length\": 12}\n";

class PairFurther : public test::PairFiles, public ::testing::WithParamInterface<const char*> {
 protected:
  // The family's tokeniser: pieces of the fixtures, or one that is learned here.
  fs::path words(const std::string& family) const {
    if (family != "led") {
      return fs::path(WEFT_TEST_DATA_DIR) / "pairs" / (family == "marian" ? "marian-separate" : family);
    }
    const std::string text = read_file(folder_ / "source.txt");
    bool given = false;
    const auto next = [&](std::string& one) {
      one = text;
      return !std::exchange(given, true);
    };
    const fs::path folder = folder_ / "words";
    text::write_trained_tokenizer(folder, text::train_tokenizer({.vocabulary_size = 280}, next));
    return folder;
  }

  // One layer each.
  fs::path directory(const std::string& family) const {
    const fs::path from = words(family);
    const auto tokenizer = text::load_pair_tokenizer(from);
    models::EncoderDecoderConfig config = models::pair_rules(family).defaults;
    config.vocab_size = tokenizer->side(text::Side::kSource).vocabulary_size();
    if (!tokenizer->shared()) {
      config.decoder_vocab_size = tokenizer->side(text::Side::kTarget).vocabulary_size();
      config.share_embeddings = false;
    }
    config.d_model = 16;
    config.encoder_layers = config.decoder_layers = 1;
    config.encoder_attention_heads = config.decoder_attention_heads = 2;
    config.encoder_ffn_dim = config.decoder_ffn_dim = 24;
    config.max_source_positions = config.max_target_positions = 64;
    config.own.set("attention_window", std::vector<std::int64_t>{4});
    config.own.set("block_size", std::int64_t{4});
    config.own.set("num_random_blocks", std::int64_t{1});
    config.eos_token_id = tokenizer->find("</s>", text::Side::kTarget).value();
    config.pad_token_id = tokenizer->find("<pad>", text::Side::kTarget).value();
    config.decoder_start_token_id = family == "led" ? config.eos_token_id : config.pad_token_id;
    at::manual_seed(7);
    checkpoint::save_encoder_decoder(folder_ / family, models::EncoderDecoder(config), from);
    write_file_atomically(folder_ / family / "generation_config.json", kSearch);
    return folder_ / family;
  }

  Json further(const fs::path& model) const {
    Json given = fields();
    for (const char* shape :
         {"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocabulary_size"}) {
      given.erase(shape);
    }
    given.update({{"model", model.string()}, {"learning_rate", 1e-3}, {"generated_examples", 4}});
    return given;
  }
};

TEST_P(PairFurther, GoesOnAndComesBack) {
  const std::string family = GetParam();
  Json given = further(directory(family));
  given["gradient_accumulation"] = 2;
  given["attention_dropout"] = 0.1;
  given["alignments"] = alignments();
  given["alignment_head"] = 1;
  const PreparedPairs prepared = prepare_pairs(given, {}, {}, "test");
  EXPECT_EQ(prepared.task->model()->config().model_type, family);
  // Texts are read as `weft translate` reads them.
  const auto tokenizer = text::load_pair_tokenizer(folder_ / family);
  const std::string source = read_file(folder_ / "source.txt");
  const std::string target = read_file(folder_ / "target.txt");
  const PairRow first = prepared.task->data().training.row(0);
  EXPECT_EQ(first.source, tokenizer->encode(source.substr(0, source.find('\n')), text::Side::kSource));
  EXPECT_EQ(first.target, tokenizer->encode(target.substr(0, target.find('\n')), text::Side::kTarget));
  // The first source word is the last target word, whatever tokens they have.
  const auto words = [&](const std::string& text, text::Side side) {
    return text::read_plain_words(*tokenizer, text.substr(0, text.find('\n')), side);
  };
  const text::WordIds from = words(source, text::Side::kSource);
  const text::WordIds to = words(target, text::Side::kTarget);
  EXPECT_EQ(from.ids, first.source);
  EXPECT_EQ(to.ids, first.target);
  EXPECT_GE(first.links.size(), from.words.size());
  for (const TokenLink& link : first.links) {
    EXPECT_EQ(from.word.at(static_cast<std::size_t>(link.source)) + to.word.at(static_cast<std::size_t>(link.target)),
              std::ssize(from.words) - 1);
  }

  const training::TrainResult whole = train_pairs(folder_ / "whole", prepared);
  EXPECT_LT(test::logged_losses(folder_ / "whole").back(), test::logged_losses(folder_ / "whole").front());
  train(given);
  leave_at_checkpoint("run", 4);
  fs::remove_all(folder_ / family);  // a run has all that it needs
  const training::TrainResult resumed = resume_pairs(folder_ / "run", prepare_pairs_resumption(folder_ / "run", {}));
  EXPECT_EQ(test::logged_losses(folder_ / "run"), test::logged_losses(folder_ / "whole"));
  EXPECT_EQ(resumed.evaluation, whole.evaluation);
  EXPECT_EQ(read_file(folder_ / "run/model.safetensors"), read_file(folder_ / "whole/model.safetensors"));
  EXPECT_EQ(read_file(folder_ / "run/generation_config.json"), kSearch);
  const checkpoint::OpenedModel opened = checkpoint::open_model(folder_ / "run");
  EXPECT_EQ(checkpoint::load_encoder_decoder_config(opened).model_type, family);
  EXPECT_EQ(checkpoint::load_encoder_decoder_config(opened).attention_dropout, 0.1);
  EXPECT_EQ(checkpoint::load_encoder_decoder_config(opened).alignment_layer, 0);
  EXPECT_EQ(checkpoint::load_encoder_decoder_config(opened).alignment_head, 1);
  EXPECT_EQ(checkpoint::load_pair_tokenizer(opened)->encode("a tree", text::Side::kSource),
            tokenizer->encode("a tree", text::Side::kSource));
}

INSTANTIATE_TEST_SUITE_P(Families, PairFurther, ::testing::Values("marian", "pegasus", "bigbird_pegasus", "led"));

class PairFurtherLed : public PairFurther {};

TEST_F(PairFurtherLed, TheFirstTokenOfASourceIsGlobal) {
  Json given = further(directory("led"));
  given["dropout"] = given["attention_dropout"] = given["label_smoothing"] = 0.0;
  const PreparedPairs prepared = prepare_pairs(given, {}, {}, "test");
  models::EncoderDecoder model = prepared.task->model();
  {
    // So small are weights at first that what the first token sees would change the loss by less than float32 shows.
    const torch::NoGradGuard guard;
    for (at::Tensor& weight : model->parameters()) {
      weight.mul_(8);
    }
  }
  PairBatch batch = pair_batch(prepared.task->shown(0, 0), model->config());
  const double loss = prepared.task->loss(0, 0).item<double>();
  batch.pair.global_attention_mask = at::zeros_like(batch.pair.input_ids);
  EXPECT_NE(model->loss(batch.pair, batch.labels).item<double>(), loss);
  batch.pair.global_attention_mask.select(1, 0).fill_(1);
  EXPECT_EQ(model->loss(batch.pair, batch.labels).item<double>(), loss);
}

TEST_F(PairFurtherLed, TheDirectoryDecidesTheShape) {
  const fs::path model = directory("led");
  const auto refuse = [&](ErrorKind kind, const Json& changes, std::initializer_list<std::string_view> words) {
    Json given = further(model);
    given.update(changes);
    test::expect_error(kind, words, [&] { prepare_pairs(given, {}, {}, "test"); });
  };
  refuse(ErrorKind::kArgument, {{"hidden_size", 32}}, {"hidden_size", "random weights"});
  refuse(ErrorKind::kArgument, {{"preset", "transformer-small"}}, {"preset", "random weights"});
  refuse(ErrorKind::kArgument, {{"vocabulary_size", 300}}, {"vocabulary_size", "random weights"});
  refuse(ErrorKind::kIo, {{"model", (folder_ / "nothing").string()}}, {"nothing"});
  refuse(ErrorKind::kArgument, {{"max_source_length", 3}}, {"source.txt", "longer than 3"});
  refuse(ErrorKind::kArgument, {{"alignment_layer", 1}, {"alignments", alignments()}},
         {"alignment_layer 1", "decoder_layers 1"});
  Json given = further(model);
  given.erase("batch_tokens");
  EXPECT_EQ(prepare_pairs(given, {}, {}, "test").settings.pairs.batch_tokens, 4096);
  given["attention"] = {"window(2) | global(1)"};
  const PreparedPairs other = prepare_pairs(given, {}, {}, "test");
  EXPECT_EQ(other.task->model()->config().encoder_attention, (std::vector<std::string>{"window(2) | global(1)"}));
}

}  // namespace
}  // namespace weft::fine_tuning
