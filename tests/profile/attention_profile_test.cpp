// SPDX-License-Identifier: Apache-2.0
// Sums that grow and are added, profiles written and read again, shards joined, and files that are none.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/formats/safetensors.h"
#include "weft/profile/attention_profile.h"

namespace weft::test {
namespace {

using profile::AttentionProfile;
using profile::MassSums;

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kTile = 4;

// Entry i of the pair (query, key) of a head counts `weight` times a number that tells the pairs apart.
void count_pair(MassSums& sums, std::int64_t head, std::int64_t query, std::int64_t key, std::int64_t weight) {
  const std::int64_t amount = weight * (1 + head + 10 * query + 100 * key);
  const auto at = [](std::vector<std::int64_t>& numbers, std::int64_t place) -> std::int64_t& {
    return numbers.at(static_cast<std::size_t>(place));
  };
  at(sums.tile, (head * sums.query_tiles() + query / kTile) * sums.key_tiles() + key / kTile) += amount;
  at(sums.key, head * sums.keys() + key) += amount;
  at(sums.distance, head * sums.distances() + query - key + sums.keys() - 1) += amount;
  at(sums.entropy, head) += amount;
  at(sums.rows, head * sums.queries() + query) += weight;
  if (sums.has_edges()) {
    at(sums.edge, (head * sums.queries() + query) * sums.keys() + key) += amount;
  }
}

MassSums counted(std::int64_t queries, std::int64_t keys, std::int64_t weight, std::int64_t least_queries = 1,
                 std::int64_t least_keys = 1) {
  MassSums sums({kHeads, kTile, 16});
  sums.grow(std::max(queries, least_queries), std::max(keys, least_keys));
  for (std::int64_t head = 0; head < kHeads; ++head) {
    for (std::int64_t query = 0; query < queries; ++query) {
      for (std::int64_t key = 0; key < keys; ++key) {
        count_pair(sums, head, query, key, weight);
      }
    }
  }
  return sums;
}

void expect_equal(const MassSums& left, const MassSums& right) {
  EXPECT_EQ(left.queries(), right.queries());
  EXPECT_EQ(left.keys(), right.keys());
  EXPECT_EQ(left.tile, right.tile);
  EXPECT_EQ(left.key, right.key);
  EXPECT_EQ(left.distance, right.distance);
  EXPECT_EQ(left.entropy, right.entropy);
  EXPECT_EQ(left.rows, right.rows);
  EXPECT_EQ(left.edge, right.edge);
}

TEST(MassSums, GrowToWhatTheyWouldHaveBeen) {
  for (const auto& [queries, keys] : {std::pair{9, 5}, {5, 13}, {9, 13}, {16, 16}, {17, 9}}) {
    MassSums grown = counted(5, 5, 3);
    EXPECT_TRUE(grown.has_edges());
    grown.grow(queries, keys);
    expect_equal(grown, counted(5, 5, 3, queries, keys));
    EXPECT_EQ(grown.has_edges(), queries <= 16);
    grown.check("the sums");
  }
}

TEST(MassSums, AddInAnyOrder) {
  const std::vector<MassSums> texts = {counted(3, 11, 1), counted(7, 2, 5), MassSums({kHeads, kTile, 16}),
                                       counted(16, 16, 2)};
  MassSums forwards({kHeads, kTile, 16});
  MassSums backwards({kHeads, kTile, 16});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    forwards.add(texts[i]);
    backwards.add(texts[texts.size() - 1 - i]);
  }
  expect_equal(forwards, backwards);
  EXPECT_EQ(forwards.rows_of(1), 3 * 11 + 7 * 2 * 5 + 16 * 16 * 2);
  EXPECT_THROW(forwards.add(counted(2, 2, profile::kMostRows / 4)), Error);
  EXPECT_THROW(forwards.add(MassSums({kHeads + 1, kTile, 16})), Error);
  EXPECT_THROW(forwards.grow(std::int64_t{1} << 31, 16), Error);
  EXPECT_THROW(MassSums({0, 64, 0}), Error);
}

AttentionProfile profile_of(std::int64_t shard, std::int64_t shards, const MassSums& sums) {
  AttentionProfile made;
  made.model = {"run", "decoder", "11aa", "float32"};
  made.data = {"22bb", 3 + shard, 100 + shard};
  made.progress = {shard, shards, 40, true};
  made.tile = kTile;
  made.edge_limit = 16;
  made.parts.push_back({{"layers.0.self", 0, false, true, kHeads, 8, "causal", 512, "", ""}, sums});
  made.parts.push_back(
      {{"layers.1.self", 1, false, true, kHeads, 8, "linear", 512, "no softmax", ""}, MassSums({kHeads, kTile, 16})});
  return made;
}

TEST(AttentionProfile, ComesBackFromItsFile) {
  const TemporaryDirectory directory;
  for (const std::int64_t length : {0, 5, 17}) {
    const MassSums sums = length == 0 ? MassSums({kHeads, kTile, 16}) : counted(length, length + 1, 3);
    profile::write_profile(directory / "a", profile_of(0, 1, sums));
    const AttentionProfile read = profile::read_profile(directory / "a");
    ASSERT_NE(read.find("layers.0.self"), nullptr);
    expect_equal(read.find("layers.0.self")->sums, sums);
    EXPECT_EQ(read.find("layers.0.cross"), nullptr);
    EXPECT_EQ(read.parts[1].site.reason, "no softmax");
    EXPECT_EQ(read.data.tokens, 100);
    profile::write_profile(directory / "b", read);
    EXPECT_EQ(read_file(directory / "a"), read_file(directory / "b"));
    EXPECT_NO_THROW(profile::require_complete(read, "a"));
  }
}

TEST(AttentionProfile, ShardsAreOneProfile) {
  MassSums all = counted(5, 9, 1);
  all.add(counted(12, 3, 2));
  AttentionProfile whole = profile_of(0, 1, all);
  whole.data.texts = 7;
  whole.data.tokens = 201;
  const TemporaryDirectory directory;
  profile::write_profile(directory / "whole", whole);
  const AttentionProfile first = profile_of(0, 2, counted(5, 9, 1));
  const AttentionProfile second = profile_of(1, 2, counted(12, 3, 2));
  const std::vector<std::string> names = {"first", "second"};
  profile::write_profile(directory / "merged", profile::merge_profiles({first, second}, names));
  EXPECT_EQ(read_file(directory / "merged"), read_file(directory / "whole"));
  EXPECT_THROW(profile::require_complete(first, "first"), Error);

  const auto expect_refused = [&](const AttentionProfile& other, const std::string& why) {
    expect_error(ErrorKind::kArgument, {why}, [&] { profile::merge_profiles({first, other}, names); });
  };
  expect_refused(first, "shard 0 of 2 is there twice");
  AttentionProfile other = second;
  other.model.digest = "33cc";
  expect_refused(other, "the model of this profile and of first differ");
  other = second;
  other.data.digest = "33cc";
  expect_refused(other, "the texts");
  other = second;
  other.progress.complete = false;
  expect_refused(other, "go on with resume");
  other = second;
  other.parts[0].site.expression = "full";
  expect_refused(other, "the attention");
  EXPECT_THROW(profile::merge_profiles({first}, {names.data(), 1}), Error);
}

TEST(AttentionProfile, RefusesOtherFiles) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory / "file";
  const auto expect_refused = [&](const std::string& why) {
    expect_error(ErrorKind::kFormat, {why}, [&] { profile::read_profile(path); });
  };
  formats::write_safetensors(path, {});
  expect_refused("no profile of attention");
  // The metadata of one profile with the tensors of another, and with those of none.
  profile::write_profile(path, profile_of(0, 1, counted(5, 9, 1)));
  const formats::SafetensorsFile good(path);
  const formats::Metadata& metadata = good.metadata();
  const auto write_with = [&](std::vector<std::int64_t> shape, std::int64_t number, const std::string& text) {
    const std::vector<std::int64_t> numbers(10, number);
    const std::vector<std::int64_t> others(90, 0);
    std::vector<formats::TensorSource> sources;
    for (const formats::TensorInfo& tensor : good.tensors()) {
      sources.push_back({tensor.name, tensor.dtype, tensor.shape, others.data()});
      if (tensor.name.ends_with(".rows")) {
        sources.back().shape = shape;
        sources.back().data = numbers.data();
      }
    }
    formats::write_safetensors(directory / "other", sources, {{"weft_profile", text}});
    std::filesystem::copy_file(directory / "other", path, std::filesystem::copy_options::overwrite_existing);
  };
  const std::string text = metadata.at("weft_profile");
  write_with({2, 5}, 3, text);
  EXPECT_NO_THROW(profile::read_profile(path));
  write_with({2, 4}, 3, text);
  expect_refused("is not I64 of the shape");
  write_with({2, 5}, -3, text);
  expect_refused("negative");
  write_with({2, 5}, profile::kMostRows, text);
  expect_refused("rows");
  std::string changed = text;
  changed.replace(changed.find("\"queries\":5"), 11, "\"queries\":0");
  write_with({2, 5}, 3, changed);
  expect_refused("0 queries and 9 keys");
  write_with({2, 5}, 3, "[]");
  expect_refused("version");
}

}  // namespace
}  // namespace weft::test
