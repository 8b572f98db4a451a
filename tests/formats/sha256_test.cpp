// SPDX-License-Identifier: Apache-2.0
// The examples of FIPS 180-4 and of its test vectors, whole and in pieces.
#include "weft/formats/sha256.h"

#include <string>

#include <gtest/gtest.h>

namespace weft::formats {
namespace {

std::string digest_of(std::string_view text) {
  Sha256 digest;
  digest.add(text);
  return hexadecimal(digest.digest());
}

TEST(Sha256, EqualsThePublishedExamples) {
  EXPECT_EQ(digest_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest_of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesOfAnySizeGiveTheSame) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += static_cast<char>(i * 7);
  }
  for (const std::size_t piece : {1U, 3U, 55U, 56U, 63U, 64U, 65U, 128U, 999U}) {
    Sha256 digest;
    for (std::size_t begin = 0; begin < text.size(); begin += piece) {
      digest.add(std::string_view(text).substr(begin, piece));
    }
    EXPECT_EQ(hexadecimal(digest.digest()), digest_of(text)) << piece;
    EXPECT_EQ(hexadecimal(digest.digest()), digest_of(text)) << "asking changes nothing";
  }
}

TEST(Sha256, ANumberIsItsEightBytes) {
  Sha256 digest;
  digest.add_number(0x0102030405060708);
  EXPECT_EQ(hexadecimal(digest.digest()), digest_of(std::string_view("\x08\x07\x06\x05\x04\x03\x02\x01", 8)));
}

}  // namespace
}  // namespace weft::formats
