// SPDX-License-Identifier: Apache-2.0
// .npy files: round trips, the exact bytes that NumPy writes, and files that are something else.
#include "weft/formats/npy.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_directory.h"
#include "weft/core/files.h"

namespace weft::formats {
namespace {

using namespace std::string_literals;
using test::expect_error;
using test::TemporaryDirectory;

// numpy.save of numpy.arange(3, dtype='<f4').reshape(shape): version 1.0, the data at byte 128 as NumPy aligns it
// to 64.
std::string file_of(const std::string& dict, const std::string& data) {
  std::string header = dict;
  header.resize(((10 + header.size()) / 64 + 1) * 64 - 11, ' ');
  header += '\n';
  std::string length = {static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return "\x93NUMPY\1\0"s + length + header + data;
}

std::string write(Dtype dtype, const std::vector<std::int64_t>& shape, std::string_view data) {
  const TemporaryDirectory directory;
  write_npy(directory / "x.npy", dtype, shape, std::as_bytes(std::span(data)));
  return read_file(directory / "x.npy");
}

TEST(Npy, BytesAreThoseOfNumPy) {
  const std::string data(12, '\1');
  EXPECT_EQ(write(Dtype::F32, {3}, data), file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", data));
  EXPECT_EQ(write(Dtype::F32, {1, 3}, data),
            file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }", data));
  EXPECT_EQ(write(Dtype::F64, {}, "12345678"),
            file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "12345678"));
}

TEST(Npy, EveryDtypeComesBack) {
  for (int i = 0; i <= static_cast<int>(Dtype::U64); ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const std::string data(6 * dtype_size(dtype), '\2');
    const std::string name(dtype_name(dtype));
    if (dtype == Dtype::BF16 || name.starts_with("F8_")) {
      expect_error(ErrorKind::kArgument, {"NumPy has no dtype " + name}, [&] { write(dtype, {2, 3}, data); });
      continue;
    }
    const NpyArray array = parse_npy(write(dtype, {2, 3}, data), "x");
    EXPECT_EQ(array.dtype, dtype);
    EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(array.data, data);
  }
}

TEST(Npy, WriterRefusesNonsense) {
  expect_error(ErrorKind::kArgument, {"12 bytes, found 3"}, [] { write(Dtype::F32, {3}, "abc"); });
  expect_error(ErrorKind::kArgument, {"dimension -1"}, [] { write(Dtype::F32, {-1}, ""); });
  expect_error(ErrorKind::kArgument, {"65 dimensions"},
               [] { write(Dtype::U8, std::vector<std::int64_t>(65, 1), "a"); });
}

TEST(Npy, ReadsWhatOthersWrite) {
  const std::string dict = "{\"shape\":(2,1),'fortran_order':False,'descr':'|u1'}";
  EXPECT_EQ(parse_npy(file_of(dict, "ab"), "x").data, "ab");
  const std::string header = dict + "\n";
  const std::string wide = "\x93NUMPY\2\0"s + static_cast<char>(header.size()) + "\0\0\0"s + header + "ab";
  EXPECT_EQ(parse_npy(wide, "x").shape, (std::vector<std::int64_t>{2, 1}));
}

TEST(Npy, BrokenFiles) {
  const auto refuse = [](const std::string& content, std::initializer_list<std::string_view> words) {
    expect_error(ErrorKind::kFormat, words, [&] { parse_npy(content, "x.npy"); });
  };
  const auto dict = [&](const std::string& text, const std::string& data = "") { return file_of(text, data); };
  refuse("", {"x.npy", "not a .npy file"});
  refuse("PK\3\4 some archive", {"not a .npy file"});
  refuse("\x93NUMPY\4\0"s, {"version 4"});
  refuse("\x93NUMPY\1\0\xff\xff"s, {"length is 65535"});
  refuse("\x93NUMPY\2\0\xff\xff\xff\xff"s, {"length is 4294967295"});
  refuse("\x93NUMPY\1\0\xff"s, {"0 bytes follow"});
  refuse(dict("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), {"dtype '|O' is not read"});
  refuse(dict("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}"), {"'>f4'"});
  refuse(dict("{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}"), {"column-major"});
  refuse(dict("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"), {"at least 0"});
  refuse(dict("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"), {"at least 0"});
  refuse(dict("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}"), {"64 bits"});
  refuse(dict("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "abc"), {"8 bytes, found 3"});
  refuse(dict("{'descr': '<f4', 'descr': '<f4'}"), {"'descr' is unknown or there twice"});
  refuse(dict("{'eval': 1}"), {"'eval'"});
  refuse(dict("{'descr': '<f4'}"), {"descr, fortran_order and shape"});
  refuse(dict("{'descr': '<f4"), {"without an end"});
  refuse(dict("["), {"expected '{'"});
}

// Rewrites a file for tests/parity/torch_files_parity.py, when it asks for it.
TEST(Npy, ForParity) {
  const char* in = std::getenv("WEFT_TEST_IN");
  const char* out = std::getenv("WEFT_TEST_OUT");
  if (in == nullptr || out == nullptr) {
    GTEST_SKIP() << "only for tests/parity";
  }
  const NpyArray array = read_npy(in);
  write_npy(out, array.dtype, array.shape, std::as_bytes(std::span(array.data)));
}

TEST(Npy, FilesAreLimited) {
  const TemporaryDirectory directory;
  write_npy(directory / "x.npy", Dtype::U8, std::vector<std::int64_t>{4}, std::as_bytes(std::span("abc")));
  EXPECT_EQ(read_npy(directory / "x.npy").shape[0], 4);
  expect_error(ErrorKind::kIo, {"more than 100 bytes"}, [&] { read_npy(directory / "x.npy", 100); });
}

}  // namespace
}  // namespace weft::formats
