// SPDX-License-Identifier: Apache-2.0
// Tensors to safetensors files and back.
#include <gtest/gtest.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/tensors.h"

namespace weft::checkpoint {
namespace {

TEST(Tensors, ComeBackWithEqualBitsInEveryDtype) {
  const test::TemporaryDirectory directory;
  NamedTensors tensors;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
                                     at::kChar, at::kByte, at::kBool}) {
    tensors.emplace_back(concat("of ", dtype), at::randn({3, 5}).mul(3).to(dtype));
  }
  tensors.emplace_back("scalar", at::tensor(4.5));
  tensors.emplace_back("empty", at::empty({0, 7}));
  tensors.emplace_back("strided", at::arange(12).view({3, 4}).t());
  save_tensors(directory / "t.safetensors", tensors, {{"note", "kept"}});
  const formats::SafetensorsFile file(directory / "t.safetensors");
  EXPECT_EQ(file.metadata().at("note"), "kept");
  EXPECT_EQ(load_tensors(directory / "t.safetensors").size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    ASSERT_NE(file.find(name), nullptr) << name;
    const at::Tensor read = read_tensor(file, *file.find(name));
    EXPECT_EQ(read.scalar_type(), tensor.scalar_type());
    EXPECT_EQ(read.sizes(), tensor.sizes());
    EXPECT_TRUE(read.equal(tensor)) << name;
  }
  EXPECT_EQ(directory.entries(), 1U);
}

TEST(Tensors, OwnTheirMemory) {
  const test::TemporaryDirectory directory;
  save_tensors(directory / "t.safetensors", {{"x", at::arange(1000)}});
  const at::Tensor read = load_tensors(directory / "t.safetensors").front().second;
  std::filesystem::resize_file(directory / "t.safetensors", 8);
  EXPECT_TRUE(read.equal(at::arange(1000)));
}

TEST(Tensors, AreReadTogetherAsOneByOne) {
  const test::TemporaryDirectory directory;
  NamedTensors tensors;
  for (int i = 0; i < 40; ++i) {
    tensors.emplace_back(concat("t", i), at::randn({i, 3}));
  }
  save_tensors(directory / "t.safetensors", tensors);
  const formats::SafetensorsFile file(directory / "t.safetensors");
  const at::Tensor all = at::empty({40, 40, 3}, at::TensorOptions(at::kDouble));
  std::vector<TensorRead> reads;
  reads.reserve(40);
  for (std::int64_t i = 0; i < 40; ++i) {
    reads.push_back({file.find(concat("t", i)), all[i].narrow(0, 0, i)});
  }
  read_all(file, reads, true);
  for (std::int64_t i = 0; i < 40; ++i) {
    EXPECT_TRUE(reads[static_cast<std::size_t>(i)]
                    .destination.to(at::kFloat)
                    .equal(tensors[static_cast<std::size_t>(i)].second));
  }
}

// Reading is a write that LibTorch counts, or packed forms of the old values would be used on.
TEST(Tensors, ReadingIsSeenByWhoeverCountsWrites) {
  const test::TemporaryDirectory directory;
  save_tensors(directory / "t.safetensors", {{"weight", at::randn({4, 5})}});
  const formats::SafetensorsFile file(directory / "t.safetensors");
  at::Tensor weight = at::zeros({4, 5});
  const auto before = weight._version();
  read_into(file, *file.find("weight"), weight);
  EXPECT_GT(weight._version(), before);
}

TEST(Tensors, AreReadTogetherInInferenceMode) {
  const test::TemporaryDirectory directory;
  NamedTensors tensors;
  for (int i = 0; i < 20; ++i) {
    tensors.emplace_back(concat("tensor ", i), at::randn({30, 5}));
  }
  save_tensors(directory / "t.safetensors", tensors);
  const formats::SafetensorsFile file(directory / "t.safetensors");
  const c10::InferenceMode inference;
  std::vector<TensorRead> reads;
  for (const auto& [name, tensor] : tensors) {
    reads.push_back({file.find(name), at::zeros({30, 5}, at::kDouble)});
  }
  read_all(file, reads, true);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_TRUE(reads[i].destination.equal(tensors[i].second.to(at::kDouble))) << i;
  }
}

TEST(Tensors, ReadTogetherNameTheFirstThatIsWrong) {
  const test::TemporaryDirectory directory;
  save_tensors(directory / "t.safetensors",
               {{"good", at::zeros({2})}, {"bad", at::full({2}, NAN)}, {"worse", at::full({2}, INFINITY)}});
  const formats::SafetensorsFile file(directory / "t.safetensors");
  std::vector<TensorRead> reads;
  for (const char* name : {"good", "worse", "bad"}) {
    reads.push_back({file.find(name), at::empty({2})});
  }
  EXPECT_NO_THROW(read_all(file, reads, false));
  test::expect_error(ErrorKind::kNumeric, {"t.safetensors", "'worse'", "NaN or infinity"},
                     [&] { read_all(file, reads, true); });
  std::filesystem::resize_file(directory / "t.safetensors", 8);
  test::expect_error(ErrorKind::kIo, {"shrank"}, [&] { read_all(file, reads, false); });
}

TEST(Tensors, RefuseWhatTheFormatDoesNotHave) {
  const test::TemporaryDirectory directory;
  const auto save = [&](const NamedTensors& tensors) {
    return [&, tensors] { save_tensors(directory / "t", tensors); };
  };
  test::expect_error(ErrorKind::kArgument, {"'z'", "ComplexFloat"}, save({{"z", at::empty({1}, at::kComplexFloat)}}));
  test::expect_error(ErrorKind::kArgument, {"'none'"}, save({{"none", at::Tensor()}}));
  test::expect_error(ErrorKind::kArgument, {"twice"}, save({{"twice", at::arange(1)}, {"twice", at::arange(1)}}));
  test::expect_error(ErrorKind::kIo, {"nowhere"}, [&] { load_tensors(directory / "nowhere"); });
  EXPECT_EQ(directory.entries(), 0U);
}

}  // namespace
}  // namespace weft::checkpoint
