// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Matrix Market file: either a one-line error, or a graph whose edges are in range, ascending and
// distinct, and which is the same after it is written and read again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "weft/core/error.h"
#include "weft/pattern/nodes/matrix_market.h"

namespace {

using weft::pattern::EdgeList;
using weft::pattern::FileEdge;

bool is_sound(const EdgeList& list) {
  const auto in_range = [&](const FileEdge& edge) {
    return edge.query >= 0 && edge.query < list.queries && edge.key >= 0 && edge.key < list.keys;
  };
  const auto not_below = [](const FileEdge& a, const FileEdge& b) { return !(a < b); };
  return std::all_of(list.edges.begin(), list.edges.end(), in_range) &&
         std::adjacent_find(list.edges.begin(), list.edges.end(), not_below) == list.edges.end();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const EdgeList list = weft::pattern::read_matrix_market({reinterpret_cast<const char*>(data), size}, "fuzz.mtx");
    const EdgeList again = weft::pattern::read_matrix_market(write_matrix_market(list), "fuzz.mtx");
    if (!is_sound(list) || again.edges != list.edges || again.queries != list.queries || again.keys != list.keys) {
      std::abort();
    }
  } catch (const weft::Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
  return 0;
}
