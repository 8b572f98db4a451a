// SPDX-License-Identifier: Apache-2.0
// What a directory turns out to be, told from one look at its config.json.
#include "weft/checkpoint/open_model.h"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "models/small_encoder.h"
#include "models/small_model.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/average.h"
#include "weft/checkpoint/encoder_decoder/directory.h"
#include "weft/checkpoint/encoder_directory.h"
#include "weft/checkpoint/model_directory.h"
#include "weft/core/files.h"
#include "weft/text/tokenizer.h"

namespace weft::checkpoint {
namespace {

TEST(OpenModel, ReadsTheConfigOfAnEncoderOnce) {
  const test::TemporaryDirectory folder;
  const std::filesystem::path path = folder / "model";
  save_encoder(path, test::small_encoder(test::small_encoder_config("longformer"), models::Head::kTokenClassification));
  const OpenedModel opened = open_model(path);
  std::filesystem::remove(path / "config.json");
  EXPECT_EQ(opened.path(), path);
  EXPECT_TRUE(opened.can(Ability::kRead));
  EXPECT_EQ(load_encoder_config(opened).model_type, "longformer");
  EXPECT_EQ(load_encoder_config(opened).directory, path);
  EXPECT_EQ(opened.head(), models::Head::kTokenClassification);
  EXPECT_EQ(load_encoder(opened)->head(), models::Head::kTokenClassification);
  test::expect_error(ErrorKind::kFormat, {"model_type must be weft", "'longformer'"}, [&] { load_config(opened); });
}

TEST(OpenModel, ReadsTheConfigOfAnOwnModelOnce) {
  const test::TemporaryDirectory folder;
  const std::filesystem::path path = folder / "model";
  const models::LanguageModel model = test::make_model(test::small_config());
  save_model(path, model, *text::make_byte_tokenizer());
  const OpenedModel opened = open_model(path);
  std::filesystem::remove(path / "config.json");
  EXPECT_FALSE(opened.can(Ability::kRead));
  EXPECT_EQ(load_config(opened).hidden_size, 16);
  EXPECT_EQ(load_model(opened)->parameter_count(), model->parameter_count());
  test::expect_error(ErrorKind::kUnsupported, {"is a decoder that weft train made"},
                     [&] { load_encoder_config(opened); });
}

TEST(OpenModel, NamesTheFamiliesWhereItKnowsNone) {
  const test::TemporaryDirectory folder;
  write_file_atomically(folder / "config.json", R"({"model_type": "loom5"})");
  const OpenedModel opened = open_model(folder.path());
  test::expect_error(ErrorKind::kUnsupported, {"bert, roberta, longformer, big_bird", "'loom5'"},
                     [&] { opened.can(Ability::kRead); });
}

TEST(OpenModel, SaysWhatAModelCanDo) {
  const test::TemporaryDirectory folder;
  save_encoder(folder / "encoder", test::small_encoder(test::small_encoder_config("bert"), models::Head::kNone));
  save_model(folder / "decoder", test::make_model(test::small_config()), *text::make_byte_tokenizer());
  models::TransformerConfig masked = test::small_config();
  masked.is_decoder = false;
  save_model(folder / "masked", test::make_model(masked), *text::make_byte_tokenizer());
  models::EncoderDecoderConfig pair;
  pair.d_model = 16;
  pair.encoder_layers = pair.decoder_layers = 1;
  pair.encoder_ffn_dim = pair.decoder_ffn_dim = 16;
  pair.eos_token_id = 1;
  save_encoder_decoder(folder / "pair", models::EncoderDecoder(pair), *text::make_byte_tokenizer());
  using enum Ability;
  struct Row {
    const char* name;
    std::vector<Ability> has;
  };
  for (const auto& [name, has] : {Row{"encoder", {kRead}}, Row{"decoder", {kPredict, kContinue}},
                                  Row{"masked", {kPredict}}, Row{"pair", {kWrite}}}) {
    const OpenedModel opened = open_model(folder / name);
    for (const Ability ability : {kRead, kWrite, kPredict, kContinue, kDraw}) {
      const bool can = std::find(has.begin(), has.end(), ability) != has.end();
      EXPECT_EQ(opened.can(ability), can) << name << " " << static_cast<int>(ability);
      if (can) {
        EXPECT_NO_THROW(opened.need(ability));
        EXPECT_GT(opened.facts(ability).reads.vocabulary, 0);
      } else {
        EXPECT_THROW(opened.need(ability), Error) << name << " " << static_cast<int>(ability);
      }
    }
  }
  constexpr std::array kWays{Way<int>{kWrite, 1}, Way<int>{kContinue, 2}};
  EXPECT_EQ(way_of(open_model(folder / "pair"), kWays), 1);
  EXPECT_EQ(way_of(open_model(folder / "decoder"), kWays), 2);
  test::expect_error(ErrorKind::kUnsupported, {"masked", "continues no prompt"},
                     [&] { way_of(open_model(folder / "masked"), kWays); });
}

// Links out of the directory, as an archive of other people may hold them.
TEST(OpenModel, ReadsNothingOutsideItsDirectory) {
  namespace fs = std::filesystem;
  const test::TemporaryDirectory folder;
  const fs::path path = folder / "model";
  save_encoder(path, test::small_encoder(test::small_encoder_config("bert"), models::Head::kTokenClassification));
  load_encoder(path);
  for (const char* name : {"config.json", "model.safetensors"}) {
    fs::rename(path / name, folder / name);
    fs::create_symlink(fs::path("..") / name, path / name);
    test::expect_error(ErrorKind::kFormat, {name, "symbolic link that leaves the directory"},
                       [&] { load_encoder(path); });
    fs::remove(path / name);
    fs::rename(folder / name, path / name);
  }
  const test::TemporaryDirectory copies;
  write_file_atomically(folder / "secret.txt", "secret");
  fs::create_symlink("../secret.txt", path / "vocab.txt");
  test::expect_error(ErrorKind::kFormat, {"vocab.txt", "leaves the directory"},
                     [&] { save_encoder(copies / "copy", load_encoder(path), path); });
  EXPECT_FALSE(fs::exists(copies / "copy"));
  test::expect_error(ErrorKind::kFormat, {"vocab.txt", "leaves the directory"},
                     [&] { average_models(std::vector<fs::path>{path, path}, copies / "mean"); });
  EXPECT_FALSE(fs::exists(copies / "mean"));
}

}  // namespace
}  // namespace weft::checkpoint
