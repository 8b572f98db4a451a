// SPDX-License-Identifier: Apache-2.0
// A heap with large pages is a heap: what it gives can be written, and who asks for none gets none.
#include "weft/core/system/large_heap.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/environment.h"

namespace weft {
namespace {

class ThpVariable {
 public:
  explicit ThpVariable(const char* value) : before_(environment("THP_MEM_ALLOC_ENABLE")) { set(value); }
  ~ThpVariable() { set(before_ ? before_->c_str() : nullptr); }
  ThpVariable(const ThpVariable&) = delete;
  ThpVariable& operator=(const ThpVariable&) = delete;

 private:
  static void set(const char* value) {
    if (value == nullptr) {
      ::unsetenv("THP_MEM_ALLOC_ENABLE");
    } else {
      ::setenv("THP_MEM_ALLOC_ENABLE", value, 1);
    }
  }

  std::optional<std::string> before_;
};

TEST(LargeHeap, NothingIsDoneUnlessTheVariableSaysSo) {
  for (const char* value : {static_cast<const char*>(nullptr), "0", ""}) {
    const ThpVariable variable(value);
    EXPECT_EQ(prepare_large_heap(), 0U);
  }
}

TEST(LargeHeap, SmallObjectsLieInIt) {
  const ThpVariable variable("1");
  const std::size_t bytes = prepare_large_heap();
  // A system without large pages refuses, and sanitizers have a heap of their own.
  EXPECT_TRUE(bytes == 0 || bytes >= std::size_t{26} << 20) << bytes;
  std::vector<std::unique_ptr<unsigned char[]>> objects;
  for (int i = 0; i < 2000; ++i) {
    objects.push_back(std::make_unique<unsigned char[]>(5000));
    std::memset(objects.back().get(), i, 5000);
  }
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(objects[static_cast<std::size_t>(i)][4999], static_cast<unsigned char>(i));
  }
}

}  // namespace
}  // namespace weft
