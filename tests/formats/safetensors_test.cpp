// SPDX-License-Identifier: Apache-2.0
// Reading and writing whole files: frame, round trip, order and alignment, files that shrink.
#include "weft/formats/safetensors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/formats/config_json.h"

namespace weft::formats {
namespace {

using test::expect_error;
using test::TemporaryDirectory;

std::string frame(std::uint64_t length, std::string_view rest) {
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file.append(rest);
}

void expect_rejected(const std::string& content, std::initializer_list<std::string_view> words) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "model.safetensors", content);
  const auto open = [&] { SafetensorsFile(directory / "model.safetensors"); };
  const std::string message = expect_error(ErrorKind::kFormat, words, open);
  EXPECT_NE(message.find("model.safetensors"), std::string::npos);
}

TEST(Safetensors, WritesAndReadsBack) {
  const TemporaryDirectory directory;
  const std::vector<float> weights{1.5F, -2.0F, 3.25F, 0.0F, 7.0F, 8.0F};
  const std::vector<std::uint8_t> flags{1, 0, 1};
  const std::int64_t step = 12;
  const std::vector<TensorSource> tensors{{"flags", Dtype::BOOL, {3}, flags.data()},
                                          {"weight", Dtype::F32, {2, 3}, weights.data()},
                                          {"empty", Dtype::F16, {0, 5}, nullptr},
                                          {"step", Dtype::I64, {}, &step}};
  write_safetensors(directory / "x", tensors, {{"made by", "a test \"é\""}});
  const SafetensorsFile file(directory / "x");
  ASSERT_EQ(file.tensors().size(), 4U);
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}, {"made by", "a test \"é\""}}));
  const TensorInfo* weight = file.find("weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(weight->dtype, Dtype::F32);
  std::vector<float> read(6);
  file.read(*weight, read.data());
  EXPECT_EQ(read, weights);
  const std::span<const std::byte> mapped = file.bytes(*weight);
  const std::span<const std::byte> written = std::as_bytes(std::span(weights));
  EXPECT_TRUE(std::equal(mapped.begin(), mapped.end(), written.begin(), written.end()));
  EXPECT_EQ(file.bytes(*file.find("step")).size(), 8U);
  EXPECT_TRUE(file.bytes(*file.find("empty")).empty());
  EXPECT_EQ(file.find("bias"), nullptr);
}

TEST(Safetensors, DataIsAlignedAndLargestFirst) {
  const TemporaryDirectory directory;
  const std::vector<std::byte> data(64);
  const std::vector<TensorSource> tensors{{"a", Dtype::U8, {3}, data.data()},
                                          {"b", Dtype::F64, {1}, data.data()},
                                          {"d", Dtype::BF16, {1}, data.data()},
                                          {"c", Dtype::BF16, {3}, data.data()},
                                          {"e", Dtype::F32, {5}, data.data()}};
  write_safetensors(directory / "x", tensors);
  const SafetensorsFile file(directory / "x");
  std::string order;
  for (const TensorInfo& tensor : file.tensors()) {
    order += tensor.name;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.bytes(tensor).data()) % dtype_size(tensor.dtype), 0U)
        << tensor.name;
  }
  EXPECT_EQ(order, "becda");
}

TEST(Safetensors, HeaderIsThatOfTheReference) {
  const TemporaryDirectory directory;
  const float value = 1;
  write_safetensors(directory / "x", std::vector<TensorSource>{{"w", Dtype::F32, {1}, &value}});
  const std::string content = read_file(directory / "x");
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})" + std::string(3, ' ');
  EXPECT_EQ(content.substr(8, content.size() - 12), header);
  EXPECT_EQ(header.size() % 8, 0U);
}

TEST(Safetensors, RandomFilesRoundTrip) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(concat("seed ", seed));
  std::mt19937 random(seed);
  const TemporaryDirectory directory;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::vector<char>> data;
    std::vector<TensorSource> tensors;
    for (unsigned i = random() % 12; i-- > 0;) {
      TensorSource tensor{concat("tensor.", i), static_cast<Dtype>(random() % 17), {}, nullptr};
      std::size_t size = dtype_size(tensor.dtype);
      for (unsigned d = random() % 4; d-- > 0;) {
        tensor.shape.push_back(random() % 5);
        size *= static_cast<std::size_t>(tensor.shape.back());
      }
      data.emplace_back(size);
      std::generate(data.back().begin(), data.back().end(), [&] { return static_cast<char>(random()); });
      tensor.data = data.back().data();
      tensors.push_back(tensor);
    }
    write_safetensors(directory / "x", tensors);
    const SafetensorsFile file(directory / "x");
    ASSERT_EQ(file.tensors().size(), tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const TensorInfo* info = file.find(tensors[i].name);
      ASSERT_NE(info, nullptr);
      EXPECT_EQ(info->dtype, tensors[i].dtype);
      EXPECT_EQ(info->shape, tensors[i].shape);
      std::vector<char> read(info->end - info->begin);
      file.read(*info, read.data());
      EXPECT_EQ(read, data[i]);
    }
  }
}

TEST(Safetensors, FrameIsChecked) {
  expect_rejected("", {"0 bytes, fewer than 8"});
  expect_rejected("1234567", {"7 bytes, fewer than 8"});
  expect_rejected(frame(std::uint64_t{1} << 63, "{}"), {"9223372036854775808", "100000000"});
  expect_rejected(frame(~std::uint64_t{0}, "{}"), {"18446744073709551615"});
  expect_rejected(frame(100'000'001, "{}"), {"100000001", "at most 100000000"});
  expect_rejected("{\"error\": \"Repository not found\"}", {"no safetensors file but text", "begins '{\"error\": "});
  expect_rejected(frame(100'000'000, "{}"), {"the file ends after 2"});
  expect_rejected(frame(3, "{}"), {"length is 3", "ends after 2"});
  expect_rejected(frame(0, ""), {"must start with '{'"});
  expect_rejected(frame(2, "{}x"), {"1 bytes at the end belong to no tensor"});
}

TEST(Safetensors, NoTensorsAreFine) {
  const TemporaryDirectory directory;
  write_file_atomically(directory / "x", frame(2, "{}"));
  EXPECT_TRUE(SafetensorsFile(directory / "x").tensors().empty());
  write_safetensors(directory / "y", {});
  EXPECT_TRUE(SafetensorsFile(directory / "y").tensors().empty());
}

TEST(Safetensors, AFileThatShrinksIsAnErrorAndNoSignal) {
  const TemporaryDirectory directory;
  const std::vector<float> data(100000, 1.0F);
  write_safetensors(directory / "x", std::vector<TensorSource>{{"w", Dtype::F32, {100000}, data.data()}});
  const SafetensorsFile file(directory / "x");
  const SafetensorsFile again = SafetensorsFile(directory / "x");
  std::filesystem::resize_file(directory / "x", 4096);
  std::vector<float> read(100000);
  expect_error(ErrorKind::kIo, {"shrank"}, [&] { file.read(file.tensors()[0], read.data()); });
  expect_error(ErrorKind::kIo, {"shrank"}, [&] { again.bytes(again.tensors()[0]); });
}

TEST(Safetensors, WriterRefusesNonsense) {
  const TemporaryDirectory directory;
  const float value = 1;
  const auto write = [&](std::vector<TensorSource> tensors, const Metadata& metadata = {}) {
    return
        [&directory, tensors = std::move(tensors), metadata] { write_safetensors(directory / "x", tensors, metadata); };
  };
  const TensorSource good{"w", Dtype::F32, {1}, &value};
  expect_error(ErrorKind::kArgument, {"both be named 'w'"}, write({good, good}));
  expect_error(ErrorKind::kArgument, {"__metadata__"}, write({{"__metadata__", Dtype::F32, {1}, &value}}));
  expect_error(ErrorKind::kArgument, {"-1"}, write({{"w", Dtype::F32, {-1}, &value}}));
  expect_error(ErrorKind::kArgument, {"overflows"}, write({{"w", Dtype::F32, {1LL << 62, 8}, &value}}));
  expect_error(ErrorKind::kArgument, {"no data"}, write({{"w", Dtype::F32, {1}, nullptr}}));
  expect_error(ErrorKind::kArgument, {"not UTF-8"}, write({{"\xff", Dtype::F32, {1}, &value}}));
  expect_error(ErrorKind::kArgument, {"not UTF-8"}, write({good}, {{"a", "\xff"}}));
  expect_error(ErrorKind::kArgument, {"65 dimensions"},
               write({{"w", Dtype::F32, std::vector<std::int64_t>(65, 1), &value}}));
  EXPECT_EQ(directory.entries(), 0U);
}

// Rewrites a file for tests/parity/safetensors_parity.py, when it asks for it.
TEST(Safetensors, ForParity) {
  const char* in = std::getenv("WEFT_TEST_IN");
  const char* out = std::getenv("WEFT_TEST_OUT");
  if (in == nullptr || out == nullptr) {
    GTEST_SKIP() << "only for tests/parity";
  }
  const SafetensorsFile file(in);
  std::vector<TensorSource> tensors;
  for (const TensorInfo& tensor : file.tensors()) {
    tensors.push_back({tensor.name, tensor.dtype, tensor.shape, file.bytes(tensor).data()});
  }
  write_safetensors(out, tensors, file.metadata());
}

TEST(Dtype, NamesAndSizesAgree) {
  for (int i = 0; i <= static_cast<int>(Dtype::U64); ++i) {
    const auto dtype = static_cast<Dtype>(i);
    EXPECT_EQ(find_dtype(dtype_name(dtype)), dtype);
    EXPECT_NE(dtype_names().find(dtype_name(dtype)), std::string_view::npos);
  }
  EXPECT_EQ(dtype_size(Dtype::BF16), 2U);
  EXPECT_EQ(find_dtype("f32"), std::nullopt);
}

}  // namespace
}  // namespace weft::formats
