// SPDX-License-Identifier: Apache-2.0
// Run directories: whole or nothing, one trainer each, the newest whole checkpoint found among damaged ones.
#include "weft/training/run_directory.h"

#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "data/text_files.h"
#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"

namespace weft::training {
namespace {

namespace fs = std::filesystem;
using formats::Json;

RunDirectory::Fill fill_with(const std::string& content) {
  return [content](const fs::path& directory) {
    test::write_text(directory / "config.json", "{}");
    test::write_text(directory / "model.safetensors", content);
    test::write_text(directory / "optimizer.safetensors", "moments of " + content);
    return Json{{"tokens", content.size()}};
  };
}

TEST(RunDirectory, IsAModelDirectoryFromTheStart) {
  const test::TemporaryDirectory folder;
  const RunDirectory run = RunDirectory::create(folder / "deep/run", {{"steps", 5}}, fill_with("zero"));
  EXPECT_EQ(read_file(folder / "deep/run/model.safetensors"), "zero");
  EXPECT_TRUE(fs::exists(folder / "deep/run/config.json"));
  EXPECT_FALSE(fs::exists(folder / "deep/run/optimizer.safetensors"));
  EXPECT_EQ(run.training().at("steps"), 5);
  EXPECT_EQ(run.latest().step, 0);
  EXPECT_EQ(run.latest().state.at("tokens"), 4);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "deep"), {}), 1);
}

TEST(RunDirectory, KeepsTheNewestCheckpoints) {
  const test::TemporaryDirectory folder;
  RunDirectory run = RunDirectory::create(folder / "run", {}, fill_with("zero"));
  for (const std::int64_t step : {5, 20, 100}) {
    run.save(step, 2, fill_with("at " + std::to_string(step)));
  }
  EXPECT_EQ(read_file(folder / "run/model.safetensors"), "at 100");
  EXPECT_EQ(run.latest().step, 100);
  EXPECT_TRUE(fs::exists(checkpoint_path(folder / "run", 20)));
  EXPECT_FALSE(fs::exists(checkpoint_path(folder / "run", 5)));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "run/checkpoints"), {}), 2);
}

TEST(RunDirectory, TakesTheNewestCheckpointThatIsWhole) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder / "run";
  {
    RunDirectory run = RunDirectory::create(path, {}, fill_with("zero"));
    for (const std::int64_t step : {1, 2, 3, 4}) {
      run.save(step, 9, fill_with("at " + std::to_string(step)));
    }
  }
  fs::resize_file(checkpoint_path(path, 4) / "optimizer.safetensors", 3);
  fs::remove(checkpoint_path(path, 3) / "state.json");
  test::write_text(path / "checkpoints/step-9/model.safetensors", "a part");
  test::write_text(path / "checkpoints/step-x/state.json", "{}");
  test::write_text(path / "checkpoints/.step-7.1-1.weft-tmp/model.safetensors", "a part");
  RunDirectory run = RunDirectory::open(path);
  const Checkpoint latest = run.latest();
  EXPECT_EQ(latest.step, 2);
  run.restore(latest, 2);
  EXPECT_EQ(read_file(path / "model.safetensors"), "at 2");
  EXPECT_FALSE(fs::exists(path / "checkpoints/step-9"));
  EXPECT_FALSE(fs::exists(path / "checkpoints/.step-7.1-1.weft-tmp"));
  EXPECT_EQ(run.latest().step, 2);
}

TEST(RunDirectory, AFailedCheckpointLeavesTheOneBefore) {
  const test::TemporaryDirectory folder;
  RunDirectory run = RunDirectory::create(folder / "run", {}, fill_with("zero"));
  test::expect_error(ErrorKind::kIo, {"full"}, [&] {
    run.save(8, 2, [](const fs::path& directory) -> Json {
      test::write_text(directory / "model.safetensors", "half");
      fail(ErrorKind::kIo, "the disk is full");
    });
  });
  EXPECT_EQ(run.latest().step, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "run/checkpoints"), {}), 1);
  EXPECT_EQ(read_file(folder / "run/model.safetensors"), "zero");
}

TEST(RunDirectory, RefusesAPlaceThatIsTaken) {
  const test::TemporaryDirectory folder;
  const auto create = [&](const char* name) { RunDirectory::create(folder / name, {}, fill_with("zero")); };
  test::write_text(folder / "notes/todo.txt", "mine");
  test::write_text(folder / "file", "mine");
  fs::create_directories(folder / "empty");
  test::expect_error(ErrorKind::kArgument, {"notes", "not an empty folder"}, [&] { create("notes"); });
  test::expect_error(ErrorKind::kArgument, {"file", "not an empty folder"}, [&] { create("file"); });
  EXPECT_EQ(read_file(folder / "notes/todo.txt"), "mine");
  create("empty");
  create("slash/");
  EXPECT_TRUE(fs::exists(folder / "empty/training.json"));
  EXPECT_TRUE(fs::exists(folder / "slash/training.json"));
  test::expect_error(ErrorKind::kArgument, {"empty", "not an empty folder"}, [&] { create("empty"); });
}

TEST(RunDirectory, APlaceBelowAFileIsRefusedBeforeTheTraining) {
  const test::TemporaryDirectory folder;
  test::write_text(folder / "file", "mine");
  test::expect_error(ErrorKind::kArgument, {"file/run", "is not a folder"},
                     [&] { RunDirectory::check_free(folder / "file/run"); });
  RunDirectory::check_free(folder / "deep/er/run");
  RunDirectory::check_free("run-in-the-working-directory");
  EXPECT_FALSE(fs::exists(folder / "deep"));
}

// A run of other people may hold links. Training would write through some of them.
TEST(RunDirectory, ItsLinksStayInIt) {
  const test::TemporaryDirectory folder;
  const fs::path path = folder / "run";
  RunDirectory::create(path, {}, fill_with("zero")).save(1, 9, fill_with("one"));
  test::write_text(folder / "outside/file", "mine");
  const auto refused = [&](const fs::path& name, const std::function<void()>& call) {
    fs::rename(path / name, folder / "kept");
    for (const char* target : {"outside/file", "outside/new"}) {
      fs::create_symlink(folder / target, path / name);
      const bool there = fs::exists(folder / target);
      test::expect_error(there ? ErrorKind::kFormat : ErrorKind::kIo, {name.native(), "symbolic link", target}, call);
      fs::remove(path / name);
    }
    fs::rename(folder / "kept", path / name);
  };
  for (const char* name : {"training.json", "lock", "checkpoints"}) {
    refused(name, [&] { RunDirectory::open(path).training(); });
  }
  test::write_text(path / "metrics.jsonl", "");
  refused("metrics.jsonl", [&] { RunDirectory::open(path); });
  refused("checkpoints/step-1/model.safetensors", [&] {
    RunDirectory run = RunDirectory::open(path);
    run.restore(Checkpoint{1, checkpoint_path(path, 1), {}}, 9);
  });
  EXPECT_EQ(read_file(folder / "outside/file"), "mine");
  EXPECT_FALSE(fs::exists(folder / "outside/new"));
  fs::rename(path / "checkpoints/step-1", folder / "step-1");
  fs::create_directory_symlink(folder / "step-1", path / "checkpoints/step-1");
  test::expect_error(ErrorKind::kFormat, {"step-1", "leaves the directory"},
                     [&] { RunDirectory::open(path).latest(); });
}

TEST(RunDirectory, OpensOnlyRunsAndOnlyOnce) {
  const test::TemporaryDirectory folder;
  const auto open = [&](const char* name) { RunDirectory::open(folder / name); };
  test::expect_error(ErrorKind::kArgument, {"absent", "training.json"}, [&] { open("absent"); });
  {
    const RunDirectory run = RunDirectory::create(folder / "run", {}, fill_with("zero"));
    test::expect_error(ErrorKind::kArgument, {"run", "in use"}, [&] { open("run"); });
  }
  open("run");
  fs::remove_all(folder / "run/checkpoints");
  test::expect_error(ErrorKind::kFormat, {"checkpoints", "no complete checkpoint"},
                     [&] { RunDirectory::open(folder / "run").latest(); });
}

}  // namespace
}  // namespace weft::training
