// SPDX-License-Identifier: Apache-2.0
// pytorch_model.bin as the real torch.save wrote it, in both forms, against the same values in safetensors; and the
// containers when they are damaged or lie.
#include "weft/formats/pickle/torch_file.h"

#include <cstdlib>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "formats/torch_archive.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/formats/safetensors.h"

namespace weft::formats {
namespace {

using test::expect_error;
using test::TemporaryDirectory;

std::filesystem::path fixture(const char* name) { return std::filesystem::path(WEFT_TEST_DATA_DIR) / "torch" / name; }

std::string read_whole(const TensorFile& file, const TensorInfo& tensor) {
  std::string bytes(tensor.end - tensor.begin, '\0');
  file.read(tensor, bytes.data());
  return bytes;
}

void expect_equal_files(const std::filesystem::path& path, const std::filesystem::path& expected_path) {
  const auto file = open_tensor_file(path);
  const SafetensorsFile expected(expected_path);
  EXPECT_EQ(file->tensors().size(), expected.tensors().size());
  for (const TensorInfo& tensor : expected.tensors()) {
    const TensorInfo* found = file->find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->dtype, tensor.dtype) << tensor.name;
    EXPECT_EQ(found->shape, tensor.shape) << tensor.name;
    EXPECT_EQ(read_whole(*file, *found), read_whole(expected, tensor)) << tensor.name;
  }
}

TEST(TorchFile, RealFilesOfEveryForm) {
  for (const char* name : {"zip.bin", "protocol4.bin", "legacy.bin"}) {
    SCOPED_TRACE(name);
    expect_equal_files(fixture(name), fixture("values.safetensors"));
  }
  expect_equal_files(fixture("wide.bin"), fixture("wide.safetensors"));
}

// A bit that flips in the weights of a file of torch.save's is found when they are read, one in the pickle at once.
TEST(TorchFile, AFlippedBitIsFound) {
  const TemporaryDirectory directory;
  const TorchFile whole(fixture("zip.bin"));
  const std::string content = read_file(fixture("zip.bin"));
  for (const TensorInfo& tensor : whole.tensors()) {
    if (tensor.begin == tensor.end) {
      continue;
    }
    std::string damaged = content;
    damaged[tensor.begin] = static_cast<char>(damaged[tensor.begin] ^ 4);
    std::ofstream(directory / "damaged.bin", std::ios::binary) << damaged;
    const TorchFile file(directory / "damaged.bin");
    for (int again = 0; again < 2; ++again) {
      expect_error(ErrorKind::kFormat, {"damaged.bin", "'data/", "is damaged", "CRC-32"},
                   [&] { read_whole(file, *file.find(tensor.name)); });
    }
  }
  std::string damaged = content;
  const std::size_t name = damaged.find("base");
  damaged[name] = 'c';
  std::ofstream(directory / "damaged.bin", std::ios::binary) << damaged;
  expect_error(ErrorKind::kFormat, {"damaged.bin", "'data.pkl' is damaged"},
               [&] { TorchFile(directory / "damaged.bin"); });
}

TEST(TorchFile, KeepsTheOrderOfTheDict) {
  const TorchFile file(fixture("zip.bin"));
  ASSERT_GE(file.tensors().size(), 3U);
  EXPECT_EQ(file.tensors()[0].name, "base");
  EXPECT_EQ(file.tensors()[1].name, "tied");
  EXPECT_EQ(file.tensors()[0].begin, file.tensors()[1].begin) << "tied tensors share their bytes";
}

TEST(TorchFile, MapsWhatLiesWithoutGaps) {
  const TorchFile file(fixture("zip.bin"));
  const TensorInfo* tail = file.find("tail");
  const std::span<const std::byte> mapped = file.bytes(*tail);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped.data()), mapped.size()), read_whole(file, *tail));
  EXPECT_TRUE(file.bytes(*file.find("transposed")).empty());
  EXPECT_TRUE(file.bytes(*file.find("empty")).empty());
  const TensorInfo stranger{"none", Dtype::F32, {}, 0, 4};
  expect_error(ErrorKind::kArgument, {"zip.bin", "no tensor 'none'"}, [&] { file.bytes(stranger); });
}

// Writes the bytes as model.bin and opens them.
void open_bytes(const std::string& content) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "model.bin", std::ios::binary) << content;
  const TorchFile file(directory / "model.bin");
}

void expect_no_torch_file(const std::string& content, std::initializer_list<std::string_view> words) {
  const std::string message = expect_error(ErrorKind::kFormat, words, [&] { open_bytes(content); });
  EXPECT_NE(message.find("model.bin"), std::string::npos) << message;
}

TEST(TorchFile, HandmadeArchivesOpen) {
  const std::string tensor = pickled({});
  open_bytes(torch_archive(pickled_dict({{"w", tensor}, {"v", tensor}})));
  open_bytes(torch_archive(pickled_dict({})));
}

TEST(TorchFile, FilesOfOtherKinds) {
  expect_no_torch_file("", {"not a file of PyTorch"});
  expect_no_torch_file("some text that goes on for a while", {"not a file of PyTorch"});
  expect_no_torch_file(zip_archive({{"word/document.xml", "x"}}), {"0 records 'data.pkl'"});
  expect_no_torch_file(zip_archive({{"a/data.pkl", "x"}, {"b/data.pkl", "x"}}), {"2 records"});
  expect_error(ErrorKind::kFormat, {"script.bin", "TorchScript"}, [] { TorchFile(fixture("script.bin")); });
  const std::string pickle = pickled_dict({});
  expect_no_torch_file(zip_archive({{"a/data.pkl", pickle}, {"a/byteorder", "big"}}), {"not little-endian"});
}

// CVE-2026-24747 read beyond a storage whose size the pickle overstated.
TEST(TorchFile, StorageSizesMustAgree) {
  expect_no_torch_file(torch_archive(pickled_dict({{"w", pickled({})}}), 12),
                       {"'w'", "16 bytes by the pickle, but 12"});
  expect_no_torch_file(torch_archive(pickled_dict({{"w", pickled({})}}), 20), {"16 bytes by the pickle, but 20"});
  expect_no_torch_file(torch_archive(pickled_dict({{"w", pickled({.key = "7"})}})), {"storage '7' is missing"});
  expect_no_torch_file(torch_archive(pickled_dict({{"w", pickled({.key = "../data.pkl"})}})), {"is missing"});
  const std::string half = pickled({.type = "HalfStorage"});
  expect_no_torch_file(torch_archive(pickled_dict({{"w", pickled({})}, {"h", half}})), {"'h'", "8 bytes, but 16"});
}

TEST(TorchFile, CutLegacyFilesAreRefused) {
  const std::string whole = read_file(fixture("legacy.bin"));
  open_bytes(whole);
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_THROW(open_bytes(whole.substr(0, size)), Error) << size;
  }
  expect_no_torch_file(whole + "x", {"1 bytes at the end"});
}

TEST(TorchFile, CutAndFlippedArchivesNeverCrash) {
  const std::string whole = read_file(fixture("zip.bin"));
  for (std::size_t size = 0; size < whole.size(); size += 61) {
    EXPECT_THROW(open_bytes(whole.substr(0, size)), Error) << size;
  }
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = whole;
    damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8);
    try {
      open_bytes(damaged);
    } catch (const Error& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    }
  }
}

// Rewrites a file as safetensors for tests/parity/torch_files_parity.py, when it asks for it.
TEST(TorchFile, ForParity) {
  const char* in = std::getenv("WEFT_TEST_IN");
  const char* out = std::getenv("WEFT_TEST_OUT");
  if (in == nullptr || out == nullptr) {
    GTEST_SKIP() << "only for tests/parity";
  }
  const TorchFile file(in);
  std::vector<std::string> contents;
  std::vector<TensorSource> sources;
  for (const TensorInfo& tensor : file.tensors()) {
    contents.push_back(read_whole(file, tensor));
    sources.push_back({tensor.name, tensor.dtype, tensor.shape, nullptr});
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    sources[i].data = contents[i].data();
  }
  write_safetensors(out, sources);
}

TEST(TorchFile, AFileThatShrinksIsAnErrorAndNoSignal) {
  const TemporaryDirectory directory;
  std::filesystem::copy_file(fixture("zip.bin"), directory / "model.bin");
  const TorchFile file(directory / "model.bin");
  std::filesystem::resize_file(directory / "model.bin", 100);
  expect_error(ErrorKind::kIo, {"shrank"}, [&] { read_whole(file, file.tensors()[0]); });
  expect_error(ErrorKind::kIo, {"shrank"}, [&] { read_whole(file, *file.find("transposed")); });
  expect_error(ErrorKind::kIo, {"shrank"}, [&] { file.bytes(file.tensors()[0]); });
}

}  // namespace
}  // namespace weft::formats
