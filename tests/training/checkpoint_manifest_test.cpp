// SPDX-License-Identifier: Apache-2.0
// Manifests: whatever changes in a checkpoint after it was written is found and named.
#include "weft/training/run/checkpoint_manifest.h"

#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/disk/digest.h"
#include "weft/core/files.h"

namespace weft::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;

class Manifest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::int64_t step : {5, 6}) {
      const fs::path path = at(step);
      test::write_text(path / "model.safetensors", "weights of step " + std::to_string(step));
      test::write_text(path / "optimizer.safetensors", "moments of step " + std::to_string(step));
      test::write_text(path / "graphs/edges.mtx", "1 1 1");
      write_manifest(path, step, {{"tokens", 100 * step}, {"seconds", 0.1}, {"loss", 1.0 / 3.0}});
    }
  }
  fs::path at(std::int64_t step) const { return folder_ / ("step-" + std::to_string(step)); }
  Checkpoint fifth() const { return read_checkpoint(at(5)).value(); }
  void expect_found(std::initializer_list<std::string_view> words) const {
    test::expect_error(ErrorKind::kFormat, words, [&] { verify(fifth()); });
  }

  test::TemporaryDirectory folder_;
};

TEST_F(Manifest, HoldsAsItWasWritten) {
  EXPECT_TRUE(verify(fifth()));
  EXPECT_EQ(fifth().state.at("tokens"), 500);
  // A digest is of the content: the manifest may be laid out anew.
  write_file_atomically(at(5) / kManifestFile, formats::print_json(fifth().state));
  EXPECT_TRUE(verify(fifth()));
}

TEST_F(Manifest, AFileOfAnotherStepIsFound) {
  fs::copy_file(at(6) / "optimizer.safetensors", at(5) / "optimizer.safetensors", fs::copy_options::overwrite_existing);
  const std::string expected = digest_of("moments of step 5");
  const std::string found = digest_of("moments of step 6");
  expect_found({"step-5/optimizer.safetensors", expected, found});
}

TEST_F(Manifest, AFlippedBitIsFoundInEveryFile) {
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "graphs/edges.mtx"}) {
    const std::string whole = read_file(at(5) / name);
    std::string damaged = whole;
    damaged[3] = static_cast<char>(damaged[3] ^ 1);
    write_file_atomically(at(5) / name, damaged);
    expect_found({name, "digest", digest_of(whole)});
    write_file_atomically(at(5) / name, whole);
  }
  EXPECT_TRUE(verify(fifth()));
}

TEST_F(Manifest, AChangedManifestIsFound) {
  const Json whole = fifth().state;
  Json changed = whole;
  changed["tokens"] = 501;
  write_file_atomically(at(5) / kManifestFile, formats::print_json(changed));
  expect_found({"step-5/state.json", "digest"});
  changed = whole;
  changed["digests"].erase("model.safetensors");
  write_file_atomically(at(5) / kManifestFile, formats::print_json(changed));
  expect_found({"step-5/state.json", "digest"});
  changed["digests"] = {"none"};
  write_file_atomically(at(5) / kManifestFile, formats::print_json(changed));
  expect_found({"step-5/state.json", "digests must be an object"});
}

TEST_F(Manifest, OfAnotherFormIsNoCheckpoint) {
  const Json whole = fifth().state;
  for (const auto& [field, value] :
       {std::pair<const char*, Json>{"files", {1}}, {"files", {{"a", "x"}}}, {"step", "5"}}) {
    Json changed = whole;
    changed[field] = value;
    write_file_atomically(at(5) / kManifestFile, formats::print_json(changed));
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(read_checkpoint(at(5)));
    const std::string warning = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(warning.find(std::string("state.json': ") + field), std::string::npos) << warning;
    EXPECT_EQ(warning.find("json.exception"), std::string::npos) << warning;
  }
}

TEST_F(Manifest, OfAnEarlierVersionHasNoDigests) {
  Json old = fifth().state;
  old.erase("digests");
  write_file_atomically(at(5) / kManifestFile, formats::print_json(old));
  EXPECT_FALSE(verify(fifth()));
}

TEST_F(Manifest, FoldersWithOtherNamesAreNone) {
  EXPECT_EQ(checkpoint_step("run/step-12"), 12);
  for (const char* name : {"step-", "step--1", "step-x", "tep-1", "step-1x"}) {
    EXPECT_FALSE(checkpoint_step(name)) << name;
  }
}

}  // namespace
}  // namespace weft::training
