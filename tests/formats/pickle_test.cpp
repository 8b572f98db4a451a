// SPDX-License-Identifier: Apache-2.0
// The restricted pickle machine and what it makes of state dicts: nothing foreign is named, called or believed.
#include "weft/formats/pickle/machine.h"

#include <gtest/gtest.h>

#include "formats/torch_archive.h"
#include "support/expect_error.h"
#include "weft/formats/pickle/state_dict.h"

namespace weft::formats {
namespace {

using namespace std::string_literals;
using Kind = Value::Kind;

void expect_refused(const std::string& pickle, std::initializer_list<std::string_view> words) {
  const std::string message =
      test::expect_error(ErrorKind::kFormat, words, [&] { read_state_dict(read_pickle(pickle, "m.bin"), "m.bin"); });
  EXPECT_TRUE(message.starts_with("m.bin: ")) << message;
}

std::string one(const PickledTensor& tensor) { return pickled_dict({{"w", pickled(tensor)}}); }

TEST(Pickle, PlainValues) {
  const std::string pickle = "\x80\x02(N\x88K\x07J\xff\xff\xff\xffG\x3f\xf8\0\0\0\0\0\0X\1\0\0\0zt.after"s;
  const PickleValues values = read_pickle(pickle, "p");
  EXPECT_EQ(values.bytes, pickle.size() - 5);
  ASSERT_EQ(values.top().kind, Kind::kTuple);
  ASSERT_EQ(values.top().items.size(), 6U);
  const auto item = [&](std::size_t i) -> const Value& { return values.at(values.top().items[i]); };
  EXPECT_EQ(item(0).kind, Kind::kNone);
  EXPECT_EQ(item(1).integer, 1);
  EXPECT_EQ(item(2).integer, 7);
  EXPECT_EQ(item(3).integer, -1);
  EXPECT_EQ(item(4).number, 1.5);
  EXPECT_EQ(item(5).text, "z");
}

TEST(Pickle, WideIntegers) {
  EXPECT_EQ(read_pickle("\x8a\x00."s, "p").top().integer, 0);
  EXPECT_EQ(read_pickle("\x8a\x01\xff."s, "p").top().integer, -1);
  EXPECT_EQ(read_pickle("\x8a\x02\xff\x00."s, "p").top().integer, 255);
  EXPECT_EQ(read_pickle(pickle_integer(INT64_MIN) + ".", "p").top().integer, INT64_MIN);
  EXPECT_EQ(read_pickle("\x8a\x09"s + std::string(9, '\1') + ".", "p").top().kind, Kind::kLong);
}

TEST(Pickle, ListsThatHoldThemselvesAreHarmless) {
  const PickleValues values = read_pickle("]q\0h\0a."s, "p");
  EXPECT_EQ(values.at(values.top().items[0]).kind, Kind::kList);
  EXPECT_EQ(values.top().items[0], values.root);
}

TEST(Pickle, NothingForeignIsNamed) {
  expect_refused("cos\nsystem\n(X\4\0\0\0echotR."s, {"'os.system'", "not among the names", "byte 0"});
  expect_refused("\x80\x04\x8c\x05posix\x8c\x06system\x93."s, {"'posix.system'"});
  expect_refused(pickle_global("torch", "load") + ".", {"'torch.load'"});
  expect_refused(pickle_global("torch._utils", "_rebuild_tensor_v2\x1b[31m") + ".", {"\\x1b"});
  expect_refused("c" + std::string(100000, 'a'), {"a name has no end"});
}

TEST(Pickle, InstructionsBeyondTheList) {
  for (const char code :
       {'i', 'o', '\x81', '\x92', '\x82', 'P', 'd', 'l', '2', 'S', 'V', 'I', '\x8b', '\x97', '\xff'}) {
    expect_refused(std::string(1, code) + "xx\nyy\n.", {"the instruction 0x", "not one that state dicts need"});
  }
  expect_refused("\x80\x01N.", {"protocol is 1"});
  expect_refused("\x80\xff.", {"protocol is 255"});
}

TEST(Pickle, StacksAreChecked) {
  expect_refused("", {"ends too early"});
  expect_refused("N", {"ends too early"});
  expect_refused(".", {"0 values on the stack"});
  expect_refused("NN.", {"2 values on the stack"});
  expect_refused("(N.", {"on the stack"});
  expect_refused("Na.", {"takes 1 values, the stack has 0"});
  expect_refused("NNa.", {"changes a list, found None"});
  expect_refused("t.", {"needs a mark"});
  expect_refused("N(\x86.", {"takes 2 values, the stack has 0"});
  expect_refused("NNR.", {"a call needs a name and a tuple"});
  expect_refused("h\5.", {"recalls value 5"});
  expect_refused("q\0."s, {"takes 1 values"});
  expect_refused(std::string(2000, '('), {"more than 1000 levels"});
}

TEST(Pickle, ItemsAreSetOnDictsOnly) {
  expect_refused("]X\1\0\0\0aNs."s, {"changes a dict, found a list"});
  expect_refused("N(X\1\0\0\0aNu."s, {"changes a dict, found None"});
  expect_refused("}(Nu."s, {"a key without a value"});
  expect_refused("N}b."s, {"attributes are set on None"});
}

TEST(Pickle, LengthsAreBelievedOnlyWithinTheFile) {
  expect_refused("\x8d" + little(~std::uint64_t{0}) + "abc", {"18446744073709551615 bytes more"});
  expect_refused("X" + little(0x7fffffffU) + "abc", {"2147483647"});
  expect_refused("\x95"s, {"8 bytes more"});
}

TEST(Pickle, ValuesAreCounted) {
  expect_refused(std::string(kMostPickleValues + 1, 'N'), {"more than 2097152 values"});
  std::string memo = "N";
  for (std::uint32_t i = 0; i < kMostPickleValues + 1; ++i) {
    memo += "r" + little(i);
  }
  expect_refused(memo, {"remembers more than"});
  // A long tuple as the arguments of many calls would be copied for each.
  expect_refused("(" + std::string(17, 'N') + "tq\0ctorch\nSize\nh\0R."s, {"17 arguments"});
}

TEST(StateDict, TensorsAndTheirBounds) {
  const std::string pickle = one({.shape = {2, 2}, .strides = {1, 2}});
  const std::vector<StoredTensor> tensors = read_state_dict(read_pickle(pickle, "m.bin"), "m.bin");
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_EQ(tensors[0].name, "w");
  EXPECT_EQ(tensors[0].bytes, 16U);
  EXPECT_EQ(tensors[0].storage_bytes, 16U);
  EXPECT_FALSE(tensors[0].contiguous());
  EXPECT_EQ(tensors[0].span_bytes(), 16U);
}

TEST(StateDict, ViewsStayWithinTheirStorage) {
  const std::int64_t huge = std::int64_t{1} << 62;
  expect_refused(one({.shape = {5}}), {"'w'", "beyond its storage of 4 elements"});
  expect_refused(one({.offset = 1}), {"beyond its storage"});
  expect_refused(one({.shape = {2}, .strides = {4}}), {"beyond its storage"});
  expect_refused(one({.shape = {1000}, .strides = {0}}), {"beyond its storage"});
  expect_refused(one({.shape = {huge, 4}, .strides = {0, 0}}), {"beyond its storage"});
  expect_refused(one({.shape = {2}, .strides = {huge}, .offset = huge}), {"beyond its storage"});
  expect_refused(one({.shape = {-1}}), {"shape", "-1"});
  expect_refused(one({.strides = {-1}}), {"strides", "-1"});
  expect_refused(one({.offset = -4}), {"storage offset", "-4"});
  expect_refused(one({.shape = {2, 2}}), {"2 dimensions, but 1 strides"});
  expect_refused(one({.storage_elements = -1}), {"storage size", "-1"});
  expect_refused(one({.storage_elements = INT64_MAX}), {"overflows 64 bits"});
  expect_refused(one({.shape = std::vector<std::int64_t>(65, 1)}), {"at most 64"});
}

TEST(StateDict, OnlyTensors) {
  expect_refused("N.", {"expected a dict of tensors, found None"});
  expect_refused(pickled_dict({{"epoch", "K\3"}}), {"'epoch'", "tensors only, found an integer"});
  expect_refused(pickled_dict({{"state_dict", "}"}}), {"'state_dict'", "found a dict"});
  expect_refused("}K\1" + pickled({}) + "s.", {"a name must be a string"});
  expect_refused(pickled_dict({{"w", pickled({})}, {"w", pickled({})}}), {"'w' appears twice"});
  expect_refused(pickled_dict({{"w", pickle_global("torch", "Size") + ")R"}}), {"found a call"});
  expect_refused(pickled_dict({{"w", pickle_global("torch._utils", "_rebuild_tensor_v2") + ")R"}}), {"0 arguments"});
  expect_refused(pickled_dict({{"w", pickle_global("torch._utils", "_rebuild_parameter") + ")R"}}), {"found a call"});
}

TEST(StateDict, StoragesThatAreNone) {
  const auto with_storage = [](const std::string& storage) {
    const std::string arguments = pickle_tuple({storage, "K\0"s, ")", ")", "\x89", "N"});
    return pickled_dict({{"w", pickle_global("torch._utils", "_rebuild_tensor_v2") + arguments + "R"}});
  };
  expect_refused(with_storage("N"), {"its storage must be a stored one, found None"});
  expect_refused(with_storage("NQ"), {"must be a stored one"});
  expect_refused(with_storage(")Q"), {"('storage', type, key, device, elements)"});
  const std::string key = pickle_text("0");
  const std::string text = pickle_text("storage");
  expect_refused(with_storage(pickle_tuple({text, key, key, key, "K\1"}) + "Q"), {"type of its storage", "a string"});
  expect_refused(with_storage(pickle_tuple({pickle_text("module"), key, key, key, "K\1"}) + "Q"), {"('storage', type"});
}

}  // namespace
}  // namespace weft::formats
