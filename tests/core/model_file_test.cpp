// SPDX-License-Identifier: Apache-2.0
// What a directory holds is read, and nothing else through it: links, folders that are links, pipes and devices, what
// other programs leave in place of a file.
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

constexpr const char* kPointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 267954768\n";

class ModelFiles : public ::testing::Test {
 protected:
  ModelFiles() {
    fs::create_directories(home_);
    write_file_atomically(temporary_ / "secret", "secret");
    write_file_atomically(home_ / "plain", "plain");
  }

  std::string read(const fs::path& name) { return read_file(ModelFile(home_, name)); }
  void refused(const fs::path& name, std::initializer_list<std::string_view> words) {
    expect_error(ErrorKind::kFormat, {name.c_str(), "symbolic link that leaves the directory"}, [&] { read(name); });
    expect_error(ErrorKind::kFormat, words, [&] { MappedFile(ModelFile(home_, name)); });
  }

  test::TemporaryDirectory temporary_;
  fs::path home_ = temporary_ / "model";
};

TEST_F(ModelFiles, LinksStayInTheDirectory) {
  EXPECT_EQ(read("plain"), "plain");
  fs::create_symlink("plain", home_ / "near");
  fs::create_symlink(home_ / "plain", home_ / "absolute");
  fs::create_symlink("../secret", home_ / "up");
  fs::create_symlink("up", home_ / "twice");
  fs::create_symlink("/etc/passwd", home_ / "far");
  EXPECT_EQ(read("near"), "plain");
  EXPECT_EQ(read("absolute"), "plain");
  refused("up", {"model/up", "it leads to", "/secret'"});
  refused("twice", {"/secret'"});
  refused("far", {"'/etc/passwd'"});
  EXPECT_EQ(read_file(home_ / "up"), "secret");  // a path that the user named
  // The user may name the directory by a link.
  fs::create_symlink(home_, temporary_ / "alias");
  EXPECT_EQ(read_file(ModelFile(temporary_ / "alias", "near")), "plain");
  EXPECT_EQ(read_file(ModelFile(temporary_ / "alias", "absolute")), "plain");
  // A name that begins alike is no folder below.
  fs::create_directories(temporary_ / "model-2");
  write_file_atomically(temporary_ / "model-2/x", "x");
  fs::create_symlink("../model-2/x", home_ / "sibling");
  refused("sibling", {"model-2/x"});
}

TEST_F(ModelFiles, NamesAndFoldersStayInTheDirectory) {
  fs::create_directories(home_ / "folder");
  write_file_atomically(home_ / "folder/inside", "inside");
  fs::create_symlink("..", home_ / "folder/back");
  fs::create_symlink(temporary_.path(), home_ / "out");
  EXPECT_EQ(read("folder/inside"), "inside");
  EXPECT_EQ(read("folder/back/plain"), "plain");
  for (const fs::path& name : {fs::path("out/secret"), fs::path("../secret"), temporary_ / "secret"}) {
    expect_error(ErrorKind::kFormat, {"symbolic link that leaves the directory", "/secret"}, [&] { read(name); });
  }
  expect_error(ErrorKind::kFormat, {"leaves the directory"}, [&] { check_stays_within(home_, home_ / "out"); });
  check_stays_within(home_, home_ / "folder");
  check_stays_within(home_, home_ / "none");
}

TEST_F(ModelFiles, WhatIsNotThereIsToldApart) {
  EXPECT_FALSE(ModelFile(home_, "none").exists());
  EXPECT_FALSE(ModelFile(home_, "plain/x").exists());
  EXPECT_FALSE(ModelFile(home_, std::string(4096, 'x')).exists());
  expect_error(ErrorKind::kIo, {"model/none", "No such file"}, [&] { read("none"); });
  fs::create_symlink("nowhere", home_ / "broken");
  fs::create_symlink("loop", home_ / "loop");
  EXPECT_TRUE(ModelFile(home_, "broken").exists());
  expect_error(ErrorKind::kIo, {"model/broken", "symbolic link to 'nowhere'", "No such file"}, [&] { read("broken"); });
  expect_error(ErrorKind::kIo, {"model/loop", "symbolic link to 'loop'"}, [&] { read("loop"); });
  expect_error(ErrorKind::kIo, {"model/broken"}, [&] { check_stays_within(home_, home_ / "broken"); });
}

TEST_F(ModelFiles, SpecialFilesAreRefusedAndNeverWaitedFor) {
  ASSERT_EQ(::mkfifo((home_ / "pipe").c_str(), 0600), 0);
  fs::create_directories(home_ / "folder");
  fs::create_symlink("pipe", home_ / "link");
  fs::create_symlink("/dev/zero", home_ / "device");
  expect_error(ErrorKind::kIo, {"model/pipe", "not a regular file"}, [&] { read("pipe"); });
  expect_error(ErrorKind::kIo, {"model/link", "not a regular file"}, [&] { read("link"); });
  expect_error(ErrorKind::kIo, {"model/folder", "it is a directory"}, [&] { read("folder"); });
  refused("device", {"/dev/zero"});
}

TEST_F(ModelFiles, SnapshotsOfTheHubCacheLinkToBlobs) {
  const fs::path model = temporary_ / "hub/models--org--name";
  const fs::path snapshot = model / "snapshots/abc";
  for (const fs::path& folder : {snapshot / "1_Pooling", model / "blobs", temporary_ / "hub/blobs/ab",
                                 temporary_ / "hub/models--org--other/blobs"}) {
    fs::create_directories(folder);
  }
  write_file_atomically(model / "blobs/one", "one");
  write_file_atomically(temporary_ / "hub/blobs/ab/two", "two");
  write_file_atomically(temporary_ / "hub/models--org--other/blobs/three", "three");
  fs::create_symlink("../../blobs/one", snapshot / "one");
  fs::create_symlink("../../../blobs/one", snapshot / "1_Pooling/one");
  fs::create_symlink("../../blobs/ab/two", model / "blobs/two");
  fs::create_symlink("../../blobs/two", snapshot / "two");
  fs::create_symlink("../../../models--org--other/blobs/three", snapshot / "three");
  fs::create_symlink("../../../../secret", snapshot / "four");
  home_ = snapshot;
  EXPECT_EQ(read("one"), "one");
  EXPECT_EQ(read("two"), "two");
  EXPECT_EQ(read("1_Pooling/one"), "one");
  EXPECT_EQ(read_file(ModelFile(snapshot / "1_Pooling", "one")), "one");
  refused("three", {"other/blobs/three"});
  refused("four", {"/secret"});
  // A folder of blobs that is itself a link is none.
  fs::rename(model / "blobs", temporary_ / "elsewhere");
  fs::create_symlink(temporary_ / "elsewhere", model / "blobs");
  refused("one", {"elsewhere/one"});
}

TEST_F(ModelFiles, PointersOfGitLfsAreNamed) {
  write_file_atomically(home_ / "model.safetensors", kPointer);
  const auto names_it = [&](const std::function<void()>& call) {
    expect_error(ErrorKind::kFormat, {"model.safetensors' is a pointer of Git LFS", "which has 267954768 bytes"}, call);
  };
  names_it([&] { read("model.safetensors"); });
  names_it([&] { read_file(home_ / "model.safetensors"); });
  names_it([&] { MappedFile(home_ / "model.safetensors"); });
  try {
    read("model.safetensors");
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("git lfs pull"), std::string::npos);
    EXPECT_NE(error.hint().find("weft download"), std::string::npos);
  }
  write_file_atomically(home_ / "short", "version https://git-lfs.github.com/spec/v1\n");
  expect_error(ErrorKind::kFormat, {"short' is a pointer of Git LFS in place of the file itself"},
               [&] { read("short"); });
  // A text that tells of pointers is none.
  const std::string text = std::string("A pointer begins so:\n") + kPointer;
  write_file_atomically(home_ / "README.md", text);
  EXPECT_EQ(read("README.md"), text);
}

TEST_F(ModelFiles, WebPagesAreNamed) {
  for (const char* page : {"<!DOCTYPE html>\n<html><head>", "\xEF\xBB\xBF\n <HTML lang=en>",
                           "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"}) {
    write_file_atomically(home_ / "config.json", page);
    expect_error(ErrorKind::kFormat, {"config.json' holds a web page"}, [&] { read("config.json"); });
    write_file_atomically(home_ / "README.md", page);
    EXPECT_EQ(read("README.md"), page);
  }
  for (const char* other : {"", "<", "<htm", "<s>\n</s>\n", "<xml", "{}"}) {
    write_file_atomically(home_ / "vocab.txt", other);
    EXPECT_EQ(read("vocab.txt"), other);
  }
}

}  // namespace
}  // namespace weft
