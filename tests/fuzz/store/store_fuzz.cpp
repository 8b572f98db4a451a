// SPDX-License-Identifier: Apache-2.0
// A store with damaged bytes is opened, searched and written: it gives hits, or one clear line. Four bytes of the input
// are a place of the file, by three bytes, and what is written there; four of 255 cut the file in the middle.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/temporary_directory.h"
#include "weft/core/error.h"
#include "weft/store/file/schema.h"
#include "weft/store/search.h"
#include "weft/store/store_writer.h"
#include "weft/store/vectors/vector_index.h"

namespace weft::store {
namespace {

constexpr std::int64_t kWidth = 8;

// A store of some texts with vectors, in small pages, so that most bytes mean something.
std::string whole_store(const std::filesystem::path& file) {
  {
    Database database(file, Access::kCreate);
    database.run("PRAGMA page_size = 512");
    create_schema(database, kEnglishWords);
  }
  {
    Store store(file, Access::kWrite);
    StoreWriter writer(store);
    std::string words = "the loom weaves a thread";
    for (int i = 0; i < 12; ++i) {
      words += i % 3 == 0 ? " by a window" : " while rates rose";
      writer.put(
          {.id = "text " + std::to_string(i), .title = i % 2 == 0 ? "Looms" : "", .text = words, .where = "here"}, 40);
    }
    writer.commit();
    const VectorSpace space{.model = "model", .digest = "digest", .width = kWidth};
    store.set_vector_space(space);
    const std::vector<Passage> passages = store.without_vector(0, 1000);
    std::vector<PassageVector> vectors;
    vectors.reserve(passages.size());
    for (const Passage& passage : passages) {
      vectors.push_back({passage.number, std::vector<float>(kWidth, static_cast<float>(passage.number % 7) - 3.0F)});
    }
    write_vectors(store, space, vectors);
  }
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string damaged(std::string bytes, const std::uint8_t* data, std::size_t size) {
  constexpr std::uint8_t kCut = 255;
  for (std::size_t i = 0; i + 4 <= size && !bytes.empty(); i += 4) {
    const auto place = data[i] + std::size_t{256} * data[i + 1] + std::size_t{65536} * data[i + 2];
    if (data[i] == kCut && data[i + 1] == kCut && data[i + 2] == kCut) {
      bytes.resize(bytes.size() * data[i + 3] / kCut);
    } else {
      bytes[place % bytes.size()] = static_cast<char>(data[i + 3]);
    }
  }
  return bytes;
}

// Runs `work`; an error must be one line.
template <typename Work>
void try_one(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) {
      std::abort();
    }
  }
}

void search(const std::filesystem::path& file, const std::string& by) {
  Store store(file, Access::kRead);
  StoreSearch searcher(store);
  const std::vector<float> vector(kWidth, 1.0F);
  const std::vector<Hit> hits = searcher.search({.text = "looms weave rates", .vector = vector, .by = by});
  std::vector<std::int64_t> numbers;
  numbers.reserve(hits.size());
  for (const Hit& hit : hits) {
    store.passage(hit.passage);
    numbers.push_back(hit.passage);
  }
  store.ids_of(numbers);
}

void write(const std::filesystem::path& file) {
  Store store(file, Access::kWrite);
  store.facts();
  store.without_vector(0, 4);
  StoreWriter writer(store);
  writer.put({.id = "text 3", .title = "", .text = "A weaver.", .where = "there"}, 0);
  writer.remove_others();
  writer.commit();
}

void run(const std::uint8_t* data, std::size_t size) {
  static const test::TemporaryDirectory directory;
  static const std::string whole = whole_store(directory.path() / "whole.weft");
  const std::filesystem::path file = directory.path() / "damaged.weft";
  {
    const std::string bytes = damaged(whole, data, size);
    std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  try_one([&] { search(file, "words"); });
  try_one([&] { search(file, "both"); });
  try_one([&] { write(file); });
  for (const char* ending : {"", "-wal", "-shm"}) {
    std::filesystem::remove(file.native() + ending);
  }
}

}  // namespace
}  // namespace weft::store

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::store::run(data, size);
  return 0;
}
