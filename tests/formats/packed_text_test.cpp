// SPDX-License-Identifier: Apache-2.0
// Base64 by the vectors of RFC 4648; compressed bytes by zlib's own way back.
#include "weft/formats/packed_text.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace weft::formats {
namespace {

TEST(PackedText, Base64EqualsTheVectorsOfTheStandard) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(base64(bytes), text);
  }
  EXPECT_EQ(base64(std::string("\xff\0\xfe", 3)), "/wD+");
}

TEST(PackedText, CompressedBytesComeBack) {
  std::string mixed(100000, 'x');
  for (std::size_t index = 0; index < mixed.size(); index += 3) {
    mixed[index] = static_cast<char>(index * index % 251);
  }
  for (const std::string& bytes : {std::string(), std::string("a"), mixed}) {
    const std::string packed = zlib_compressed(bytes);
    std::string back(bytes.size() + 1, '?');
    uLongf size = back.size();
    ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(back.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                         packed.size()),
              Z_OK);
    back.resize(size);
    EXPECT_EQ(back, bytes);
  }
}

}  // namespace
}  // namespace weft::formats
