// SPDX-License-Identifier: Apache-2.0
// In which numbers a model computes, by what is asked for and by whether a run taught it.
#include "weft/tasks/encoder_settings.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/cpu.h"
#include "weft/core/files.h"

namespace weft::tasks {
namespace {

class NumbersOfAModel : public ::testing::Test {
 protected:
  NumbersOfAModel() {
    for (const char* name : {"published", "half", "whole", "wrong"}) {
      std::filesystem::create_directory(folder_ / name);
    }
    run("half", "bfloat16");
    run("whole", "float32");
    run("wrong", "float8");
  }

  void run(const std::string& name, const std::string& dtype) const {
    write_file_atomically(folder_ / name / "training.json", R"({"weft_version": "1", "dtype": ")" + dtype + "\"}");
  }

  /// "weights, products" of a decoder.
  std::string of_decoder(const std::string& dtype, const std::string& directory,
                         const std::string& weights = "stored") const {
    const EncoderSettings settings = decoder_settings({.dtype = dtype, .weights = weights}, folder_ / directory);
    EXPECT_EQ(settings.int8, weights == "int8");
    EXPECT_EQ(decoder_options(settings).dtype, settings.dtype);
    EXPECT_EQ(decoder_options(settings).int8, settings.int8);
    return dtype_text(settings.dtype) + ", " + dtype_text(product_type(settings));
  }

  test::TemporaryDirectory folder_;
  std::string fast_ = has_fast_bfloat16() ? "bfloat16" : "float32";  // the device of these tests is the CPU
};

TEST_F(NumbersOfAModel, ADecoderOfNoRunHasTheWeightsThatItIsAskedFor) {
  EXPECT_EQ(of_decoder("run", "published"), "float32, float32");
  EXPECT_EQ(of_decoder("float32", "published"), "float32, float32");
  EXPECT_EQ(of_decoder("bfloat16", "published"), "bfloat16, bfloat16");
  EXPECT_EQ(of_decoder("auto", "published"), fast_ + ", " + fast_);
}

TEST_F(NumbersOfAModel, ADecoderOfARunKeepsItsWeightsUnlessItIsAskedForOthers) {
  EXPECT_EQ(of_decoder("run", "half"), "float32, bfloat16");
  EXPECT_EQ(of_decoder("auto", "half"), "float32, bfloat16");
  EXPECT_EQ(of_decoder("auto", "whole"), "float32, float32");
  EXPECT_EQ(of_decoder("bfloat16", "whole"), "bfloat16, bfloat16");
  EXPECT_EQ(of_decoder("float32", "half"), "float32, float32");
}

TEST_F(NumbersOfAModel, BesideInt8ADecoderIsFloat32UnlessItIsAskedForOthers) {
  EXPECT_EQ(of_decoder("run", "published", "int8"), "float32, float32");
  EXPECT_EQ(of_decoder("bfloat16", "published", "int8"), "bfloat16, bfloat16");
  EXPECT_EQ(of_decoder("auto", "published", "int8"), fast_ + ", " + fast_);
  EXPECT_EQ(of_decoder("run", "half", "int8"), "float32, bfloat16");
}

TEST_F(NumbersOfAModel, AnEncoderBesideInt8IsWhatTheDeviceIsFastAt) {
  const auto type = [&](const std::string& dtype, const std::string& weights) {
    return dtype_text(encoder_settings({.dtype = dtype, .weights = weights}, folder_ / "published").dtype);
  };
  EXPECT_EQ(type("run", "stored"), "float32");
  EXPECT_EQ(type("run", "int8"), fast_);
  EXPECT_EQ(type("float32", "int8"), "float32");
  EXPECT_EQ(type("bfloat16", "stored"), "bfloat16");
}

TEST_F(NumbersOfAModel, ARunOfAnotherTypeIsRefusedWhereItIsFollowed) {
  test::expect_error(ErrorKind::kFormat, {"training.json", "'float8'"}, [&] { of_decoder("run", "wrong"); });
  EXPECT_EQ(of_decoder("bfloat16", "wrong"), "bfloat16, bfloat16");
}

}  // namespace
}  // namespace weft::tasks
