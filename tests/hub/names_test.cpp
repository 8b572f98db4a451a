// SPDX-License-Identifier: Apache-2.0
// Names, digests and what a model needs of a repository; tests/hub/*_test.py have the rest, over a network.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/hub/blob_digest.h"
#include "weft/hub/model_name.h"
#include "weft/hub/needed_files.h"

namespace weft::hub {
namespace {

using test::expect_error;
using test::TemporaryDirectory;

TEST(ModelNames, AreWhatTheHubAllows) {
  for (const char* text : {"a/b", "google-bert/bert-base.uncased", "_a/b_", "org/name@v1.0", "org/name@refs/pr/1",
                           "gpt2", "bert-base-uncased@v2"}) {
    const auto name = parse_model_name(text);
    ASSERT_TRUE(name) << text;
    EXPECT_EQ(name->text(), text);
    EXPECT_EQ(repository_of_folder(name->folder()), name->repository);
  }
  EXPECT_EQ(parse_model_name("org/name@main")->text(), "org/name");
  EXPECT_EQ(parse_model_name("org/my-name")->folder(), "models--org--my-name");
}

TEST(ModelNames, AreNothingElse) {
  const std::string long_name = "a/" + std::string(100, 'b');
  for (const std::string text :
       {"",         ".",        "a/b/c",   "/a/b",  "./a",    "../a",   "a/..",           "a/b.git",
        "a--b/c",   "a/-b",     "a/b-",    "a/b c", "a/b@",   "a/b@..", "a/b@/x",         "a/b@x/",
        "a/b@x//y", "a/b@x/.y", "a/b@x y", "~/a",   "a\\b/c", "a/b:c",  long_name.c_str()}) {
    EXPECT_FALSE(parse_model_name(text)) << text;
  }
  EXPECT_FALSE(repository_of_folder("models--"));
  EXPECT_FALSE(repository_of_folder("datasets--a--b"));
}

// FIPS 180-4's examples, and every length around a block.
TEST(BlobDigest, IsSha1) {
  const auto of = [](std::string_view text) {
    Sha1 hash;
    hash.add(text);
    return hash.finish();
  };
  EXPECT_EQ(of("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(of(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  for (std::size_t length = 50; length < 140; ++length) {
    const std::string text(length, 'a');
    Sha1 in_pieces;
    in_pieces.add(text.substr(0, length / 3));
    in_pieces.add(text.substr(length / 3));
    EXPECT_EQ(in_pieces.finish(), of(text)) << length;
  }
  EXPECT_EQ(of(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(BlobDigest, HasTheFormOfTheName) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "x", "hello\n");
  EXPECT_EQ(blob_digest(directory / "x", std::string(40, '0')), "ce013625030ba8dba906f756967f9e9ca394464a");  // git's
  EXPECT_EQ(blob_digest(directory / "x", std::string(64, '0')),
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
  expect_error(ErrorKind::kIo, {"missing"}, [&] { blob_digest(directory / "missing", std::string(40, '0')); });
}

std::vector<std::string> names_needed(const std::vector<std::string>& names, Need need = Need::kModel) {
  std::vector<HubFile> files;
  files.reserve(names.size());
  for (const std::string& name : names) {
    files.push_back({name, 1, std::string(40, '0')});
  }
  std::vector<std::string> needed;
  for (const HubFile& file : needed_files(files, need, "org/model")) {
    needed.push_back(file.path);
  }
  return needed;
}

TEST(NeededFiles, AreOneFormOfWeights) {
  using Names = std::vector<std::string>;
  const Names shards = {
      "config.json",       "model-00001-of-00001.safetensors", "model-fp16.safetensors", "model.safetensors.index.json",
      "pytorch_model.bin", "pytorch_model.bin.index.json"};
  EXPECT_EQ(names_needed(shards),
            (Names{"config.json", "model-00001-of-00001.safetensors", "model.safetensors.index.json"}));
  EXPECT_EQ(names_needed({"config.json", "model.safetensors", "model.safetensors.index.json"}),
            (Names{"config.json", "model.safetensors"}));
  EXPECT_EQ(names_needed({"pytorch_model.bin", "config.json", "spiece.model", "flax_model.msgpack"}),
            (Names{"config.json", "spiece.model", "pytorch_model.bin"}));
  EXPECT_EQ(names_needed({"vocab.txt", "tf_model.h5"}, Need::kTokenizer), Names{"vocab.txt"});
  EXPECT_EQ(names_needed({"sentencepiece.bpe.model", "tf_model.h5"}, Need::kTokenizer),
            Names{"sentencepiece.bpe.model"});
  expect_error(ErrorKind::kFormat, {"'org/model'", "no weights", "tf_model.h5"},
               [] { names_needed({"config.json", "tf_model.h5"}); });
  expect_error(ErrorKind::kFormat, {"no config.json"}, [] { names_needed({"model.safetensors"}); });
}

TEST(NeededFiles, AreThoseOfModulesToo) {
  using Names = std::vector<std::string>;
  const Names minilm = {"config.json",           "model.safetensors",         "modules.json",
                        "1_Pooling/config.json", "2_Dense/model.safetensors", "2_Dense/pytorch_model.bin",
                        "onnx/model.onnx",       "onnx/config.json",          "openvino/1_x/config.json"};
  EXPECT_EQ(names_needed(minilm), (Names{"config.json", "modules.json", "1_Pooling/config.json", "model.safetensors",
                                         "2_Dense/model.safetensors"}));
  EXPECT_EQ(names_needed({"modules.json", "0_Transformer/config.json", "0_Transformer/pytorch_model.bin"}),
            (Names{"modules.json", "0_Transformer/config.json", "0_Transformer/pytorch_model.bin"}));
  // Without the list, folders are something else.
  EXPECT_EQ(names_needed({"config.json", "model.safetensors", "1_Pooling/config.json"}),
            (Names{"config.json", "model.safetensors"}));
}

TEST(NeededFiles, AreHeldWithTheirModules) {
  const TemporaryDirectory snapshot;
  write_file_atomically(snapshot / "config.json", "{}");
  write_file_atomically(snapshot / "model.safetensors", "");
  write_file_atomically(snapshot / "vocab.txt", "a");
  write_file_atomically(snapshot / "modules.json", R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
    {"path": "1_Dense", "type": "sentence_transformers.models.Dense"},
    {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])");
  EXPECT_EQ(held_files(snapshot.path(), Need::kModel), Held::kNothing);
  std::filesystem::create_directories(snapshot / "1_Dense");
  write_file_atomically(snapshot / "1_Dense/config.json", "{}");
  EXPECT_EQ(held_files(snapshot.path(), Need::kModel), Held::kNothing);
  write_file_atomically(snapshot / "1_Dense/pytorch_model.bin", "");
  EXPECT_EQ(held_files(snapshot.path(), Need::kModel), Held::kAll);
}

TEST(NeededFiles, AreHeldOnceTheyAreWhole) {
  const TemporaryDirectory cache;
  const std::filesystem::path snapshot = cache / "snapshots" / "abc";
  std::filesystem::create_directories(snapshot);
  EXPECT_EQ(held_files(snapshot, Need::kModel), Held::kNothing);
  write_file_atomically(snapshot / "config.json", "{}");
  write_file_atomically(snapshot / "model.safetensors.index.json", R"({"weight_map": {"w": "a.safetensors"}})");
  EXPECT_EQ(held_files(snapshot, Need::kModel), Held::kNothing);
  std::filesystem::create_symlink("nowhere", snapshot / "a.safetensors");
  EXPECT_EQ(held_files(snapshot, Need::kModel), Held::kNothing);
  std::filesystem::create_symlink("config.json", snapshot / "b");
  std::filesystem::rename(snapshot / "b", snapshot / "a.safetensors");
  EXPECT_EQ(held_files(snapshot, Need::kModel), Held::kModel);
  EXPECT_EQ(held_files(snapshot, Need::kTokenizer), Held::kNothing);
  write_file_atomically(snapshot / "vocab.txt", "a");
  EXPECT_EQ(held_files(snapshot, Need::kModel), Held::kAll);
}

}  // namespace
}  // namespace weft::hub
