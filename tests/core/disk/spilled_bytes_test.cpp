// SPDX-License-Identifier: Apache-2.0
// Bytes read from memory, from the file, from what is not yet written, and across all three.
#include "weft/core/disk/spilled_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "support/expect_error.h"
#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft {
namespace {

std::vector<char> some_bytes(std::size_t count) {
  std::vector<char> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<char>(random_bits(7, i));
  }
  return bytes;
}

TEST(SpilledBytes, AreReadByTheirPlace) {
  const std::vector<char> bytes = some_bytes(2'200'000);
  for (const std::size_t most : {std::size_t{0}, std::size_t{1000}, std::size_t{1} << 20, std::size_t{1} << 30}) {
    SpilledBytes kept("test", most);
    std::uint64_t done = 0;
    for (std::uint64_t piece = 0; done < bytes.size(); ++piece) {
      const std::size_t count =
          std::min<std::size_t>(random_below(random_bits(1, piece), 200'000), bytes.size() - done);
      kept.append(bytes.data() + done, count);
      done += count;
    }
    ASSERT_EQ(kept.size(), bytes.size());
    for (std::uint64_t turn = 0; turn < 200; ++turn) {
      const std::size_t place = random_below(random_bits(2, turn), bytes.size());
      const std::size_t most_count = turn % 4 == 0 ? bytes.size() - place : 5000;
      const std::size_t count = std::min<std::size_t>(most_count, bytes.size() - place);
      std::vector<char> found(count);
      kept.read(place, found.data(), count);
      ASSERT_TRUE(std::equal(found.begin(), found.end(), bytes.begin() + static_cast<std::ptrdiff_t>(place)))
          << most << ' ' << place;
    }
    char none = 'x';
    kept.read(bytes.size(), &none, 0);
    EXPECT_EQ(none, 'x');
    test::expect_error(ErrorKind::kArgument, {"test", "1 bytes"}, [&] { kept.read(bytes.size(), &none, 1); });
  }
}

TEST(SpilledBytes, OneThatIsMovedReadsTheSame) {
  const std::vector<char> bytes = some_bytes(2'500'000);
  SpilledBytes first("test", 10);
  first.append(bytes.data(), bytes.size());
  const SpilledBytes second = std::move(first);
  std::vector<char> found(bytes.size());
  second.read(0, found.data(), found.size());
  EXPECT_EQ(found, bytes);
}

TEST(SpilledBytes, SaysWhereItCannotWrite) {
  const char* const before = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/dev/null/none", 1);  // NOLINT(concurrency-mt-unsafe)
  const std::vector<char> bytes = some_bytes(2'500'000);
  SpilledBytes spilled("examples", 10);
  test::expect_error(ErrorKind::kIo, {"/dev/null/none", "TMPDIR"}, [&] { spilled.append(bytes.data(), bytes.size()); });
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace
}  // namespace weft
