// SPDX-License-Identifier: Apache-2.0
// Weights in shards: read as one file, and every way in which index and shards can disagree.
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/formats/config_json.h"
#include "weft/formats/safetensors.h"

namespace weft::formats {
namespace {

using test::expect_error;
using test::TemporaryDirectory;

constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

class Shards : public ::testing::Test {
 protected:
  Shards() {
    write_shard(kFirst, {"a", "b"}, 1);
    write_shard(kSecond, {"c"}, 3);
    write_index({{"a", kFirst}, {"b", kFirst}, {"c", kSecond}});
  }

  void write_shard(const std::string& name, const std::vector<std::string>& tensors, float first) {
    std::vector<float> values(tensors.size());
    std::vector<TensorSource> sources;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      values[i] = first + static_cast<float>(i);
      sources.push_back({tensors[i], Dtype::F32, {1}, &values[i]});
    }
    write_safetensors(directory_ / name, sources);
  }

  void write_index(const std::map<std::string, std::string>& map) {
    write_text(print_json(Json{{"metadata", {{"total_size", 12}}}, {"weight_map", map}}));
  }
  void write_text(const std::string& text) { write_file_atomically(directory_ / kIndex, text); }

  void expect_refused(std::initializer_list<std::string_view> words, ErrorKind kind = ErrorKind::kFormat) {
    const std::string message = expect_error(kind, words, [&] { open_tensor_directory(directory_.path()); });
    EXPECT_NE(message.find(kIndex), std::string::npos) << message;
  }

  TemporaryDirectory directory_;
};

TEST_F(Shards, AreReadAsOne) {
  const auto file = open_tensor_directory(directory_.path());
  ASSERT_EQ(file->tensors().size(), 3U);
  float expected = 1;
  for (const char* name : {"a", "b", "c"}) {
    const TensorInfo* tensor = file->find(name);
    ASSERT_NE(tensor, nullptr);
    float value = 0;
    file->read(*tensor, &value);
    EXPECT_EQ(value, expected++);
    EXPECT_EQ(file->bytes(*tensor).size(), sizeof(float));
  }
  EXPECT_EQ(file->find("d"), nullptr);
  EXPECT_EQ(file->path().filename(), kIndex);
  expect_error(ErrorKind::kArgument, {"no tensor 'd'"}, [&] { file->bytes({"d", Dtype::F32, {1}, 0, 4}); });
}

TEST_F(Shards, ASingleFileGoesFirst) {
  write_shard("model.safetensors", {"w"}, 9);
  EXPECT_EQ(open_tensor_directory(directory_.path())->tensors().size(), 1U);
}

TEST_F(Shards, AShardIsMissing) {
  std::filesystem::remove(directory_ / kSecond);
  expect_refused({kSecond, "No such file"}, ErrorKind::kIo);
}

TEST_F(Shards, TensorsAndIndexMustAgree) {
  write_index({{"a", kFirst}, {"b", kFirst}, {"c", kSecond}, {"d", kSecond}});
  expect_refused({"tensor 'd' is missing", kSecond});
  write_index({{"a", kFirst}, {"c", kSecond}});
  expect_refused({"tensor 'b'", kFirst, "not in weight_map"});
  write_index({{"a", kFirst}, {"b", kSecond}, {"c", kSecond}});
  expect_refused({"tensor 'b' is in the shard", kFirst, "weight_map says", kSecond});
}

TEST_F(Shards, ATensorInTwoShards) {
  write_shard(kSecond, {"b", "c"}, 3);
  expect_refused({"tensor 'b' is in the shard", kSecond, "weight_map says", kFirst});
}

TEST_F(Shards, AShardTooMany) {
  write_shard("model-00003-of-00003.safetensors", {"x"}, 1);
  expect_refused({"model-00003-of-00003.safetensors", "not named"});
  std::filesystem::remove(directory_ / "model-00003-of-00003.safetensors");
  write_shard("other.safetensors", {"x"}, 1);
  EXPECT_EQ(open_tensor_directory(directory_.path())->tensors().size(), 3U);
}

TEST_F(Shards, ADamagedShardIsNamed) {
  write_file_atomically(directory_ / kSecond, "short");
  expect_error(ErrorKind::kFormat, {kSecond, "5 bytes"}, [&] { open_tensor_directory(directory_.path()); });
}

TEST_F(Shards, NamesStayInTheDirectory) {
  for (const char* name :
       {"../model.safetensors", "/etc/passwd", "a/b", "..", ".", "", "C:model.safetensors", "..\\x", "a\nb"}) {
    write_index({{"a", name}});
    expect_refused({"must be a plain file name"});
  }
  write_index({{"a", std::string("a\0b", 3)}});
  expect_refused({"must be a plain file name"});
}

TEST_F(Shards, LinksStayInTheDirectoryOrTheHubCache) {
  const TemporaryDirectory elsewhere;
  std::filesystem::rename(directory_ / kSecond, elsewhere / "blob");
  std::filesystem::create_symlink(elsewhere / "blob", directory_ / kSecond);
  expect_refused({kSecond, "symbolic link that leaves the directory"});
  std::filesystem::remove(directory_ / kSecond);
  std::filesystem::copy_file(elsewhere / "blob", directory_ / "second");
  std::filesystem::create_symlink("second", directory_ / kSecond);
  EXPECT_EQ(open_tensor_directory(directory_.path())->tensors().size(), 3U);

  const std::filesystem::path snapshot = elsewhere / "snapshots/abc";
  std::filesystem::create_directories(snapshot);
  std::filesystem::create_directories(elsewhere / "blobs");
  for (const char* name : {kFirst, kSecond, kIndex}) {
    std::filesystem::copy_file(directory_ / name, elsewhere / "blobs" / name);
    std::filesystem::create_symlink(std::filesystem::path("../../blobs") / name, snapshot / name);
  }
  EXPECT_EQ(open_tensor_directory(snapshot)->tensors().size(), 3U);
}

// huggingface_hub 2 may keep a blob once for all models of the cache: models--o--n/blobs/x links to ../../blobs/ab/x.
TEST_F(Shards, LinksOfTheHubCacheTakeTwoSteps) {
  const TemporaryDirectory cache;
  const auto lay_out = [&](const std::string& model) {
    const std::filesystem::path snapshot = cache / model / "snapshots/abc";
    std::filesystem::create_directories(snapshot);
    std::filesystem::create_directories(cache / model / "blobs");
    std::filesystem::create_directories(cache / "blobs/ab");
    for (const char* name : {kFirst, kSecond, kIndex}) {
      std::filesystem::copy_file(directory_ / name, cache / "blobs/ab" / name,
                                 std::filesystem::copy_options::overwrite_existing);
      std::filesystem::create_symlink(std::filesystem::path("../../blobs/ab") / name, cache / model / "blobs" / name);
      std::filesystem::create_symlink(std::filesystem::path("../../blobs") / name, snapshot / name);
    }
    return snapshot;
  };
  EXPECT_EQ(open_tensor_directory(lay_out("models--org--name"))->tensors().size(), 3U);
  const std::filesystem::path other = lay_out("other");
  expect_error(ErrorKind::kFormat, {"symbolic link that leaves the directory"}, [&] { open_tensor_directory(other); });
}

TEST_F(Shards, ANameThatNoFileCanHave) {
  std::filesystem::remove(directory_ / kSecond);
  for (const char* ending : {"", "-00001-of-00002.safetensors"}) {
    write_index({{"a", kFirst}, {"b", kFirst}, {"c", std::string(200'000, 'a') + ending}});
    expect_refused({"cannot open the shard"}, ErrorKind::kIo);
  }
}

TEST_F(Shards, AShardThatIsNoFile) {
  std::filesystem::remove(directory_ / kSecond);
  ASSERT_EQ(::mkfifo((directory_ / kSecond).c_str(), 0600), 0);
  expect_error(ErrorKind::kIo, {kSecond}, [&] { open_tensor_directory(directory_.path()); });
}

TEST_F(Shards, IndexesThatAreNone) {
  for (const char* text : {"[]", "{}", "3", R"({"weight_map": []})", R"({"weight_map": {}})"}) {
    write_text(text);
    expect_refused({"there must be an object 'weight_map'"});
  }
  write_text(R"({"weight_map": {"a": 3}})");
  expect_refused({"the file of 'a' must be a string, found number"});
  write_text(R"({"weight_map": {"a": "x", "a": "y"}})");
  expect_refused({"'a' appears twice"});
  write_text("{");
  expect_refused({"not valid JSON"});
}

TEST(TensorDirectory, WithoutWeights) {
  const TemporaryDirectory empty;
  expect_error(ErrorKind::kIo, {"cannot find weights", "no model.safetensors"},
               [&] { open_tensor_directory(empty.path()); });
}

TEST(TensorDirectory, PyTorchFilesAndTheirShards) {
  const std::filesystem::path fixtures = std::filesystem::path(WEFT_TEST_DATA_DIR) / "torch";
  const TemporaryDirectory directory;
  std::filesystem::copy_file(fixtures / "wide.bin", directory / "pytorch_model.bin");
  EXPECT_EQ(open_tensor_directory(directory.path())->tensors().size(), 2U);
  std::filesystem::rename(directory / "pytorch_model.bin", directory / "pytorch_model-00001-of-00001.bin");
  const std::string name = "pytorch_model-00001-of-00001.bin";
  write_file_atomically(directory / "pytorch_model.bin.index.json",
                        print_json(Json{{"weight_map", {{"uint16", name}, {"float8", name}}}}));
  EXPECT_EQ(open_tensor_directory(directory.path())->tensors().size(), 2U);
}

}  // namespace
}  // namespace weft::formats
