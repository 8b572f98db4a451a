// SPDX-License-Identifier: Apache-2.0
// Every file of every tokeniser that is a link out of its directory: none is read, whatever the family.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"
#include "weft/text/pair/pair_tokenizer.h"
#include "weft/text/tokenizer.h"

namespace weft::text {
namespace {

namespace fs = std::filesystem;

const fs::path kFixtureFolders = WEFT_TEST_DATA_DIR;

struct Case {
  const char* directory;
  bool pairs = false;
};

class LinkedFiles : public ::testing::TestWithParam<Case> {
 protected:
  static void load(const fs::path& directory) {
    if (GetParam().pairs) {
      load_pair_tokenizer(directory);
    } else {
      load_tokenizer(directory);
    }
  }
};

TEST_P(LinkedFiles, AreNotRead) {
  const test::TemporaryDirectory temporary;
  const fs::path model = temporary / "model";
  fs::copy(kFixtureFolders / GetParam().directory, model, fs::copy_options::recursive);
  fs::create_directories(temporary / "outside");
  load(model);
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFixtureFolders / GetParam().directory)) {
    const fs::path name = entry.path().filename();
    if (name.native().starts_with("cases")) {
      continue;
    }
    ++files;
    fs::rename(model / name, temporary / "outside" / name);
    fs::create_symlink(fs::path("../outside") / name, model / name);
    test::expect_error(ErrorKind::kFormat, {name.native(), "symbolic link that leaves the directory"},
                       [&] { load(model); });
    fs::remove(model / name);
    // A link within the directory is as good as the file.
    fs::rename(temporary / "outside" / name, model / "kept");
    fs::create_symlink("kept", model / name);
    load(model);
    fs::remove(model / name);
    fs::rename(model / "kept", model / name);
  }
  EXPECT_GT(files, 0U);
}

INSTANTIATE_TEST_SUITE_P(Families, LinkedFiles,
                         ::testing::Values(Case{"tokenizers/bert"}, Case{"tokenizers/roberta"}, Case{"tokenizers/json"},
                                           Case{"tokenizers/big_bird"}, Case{"tokenizers/camembert"},
                                           Case{"pairs/pegasus", true}, Case{"pairs/bigbird_pegasus", true},
                                           Case{"pairs/marian-codes", true}, Case{"pairs/marian-separate", true}));

TEST(LinkedFiles, OfOlderVocabulariesAreNotRead) {
  const test::TemporaryDirectory temporary;
  fs::create_directories(temporary / "model");
  for (const char* name : {"vocab.pkl", "vocab.bin"}) {
    fs::copy_file(kFixtureFolders / "transformer_xl/pickled" / name, temporary / name);
    fs::create_symlink(fs::path("..") / name, temporary / "model" / name);
    test::expect_error(ErrorKind::kFormat, {name, "symbolic link that leaves the directory"},
                       [&] { load_tokenizer(temporary / "model"); });
    fs::remove(temporary / "model" / name);
  }
  write_file_atomically(temporary / "secret", "secret");
  fs::create_symlink("../secret", temporary / "model/tokenizer.model");
  test::expect_error(ErrorKind::kFormat, {"tokenizer.model", "leaves the directory"},
                     [&] { load_tokenizer(temporary / "model"); });
  // Where its link's name decides which reader is taken, the file is not looked into either.
  fs::remove(temporary / "model/tokenizer.model");
  fs::create_symlink("../secret", temporary / "model/config.json");
  test::expect_error(ErrorKind::kFormat, {"config.json", "leaves the directory"},
                     [&] { load_tokenizer(temporary / "model"); });
}

}  // namespace
}  // namespace weft::text
