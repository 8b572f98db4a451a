// SPDX-License-Identifier: Apache-2.0
// One's own texts in one file: passages, an index of their words and vectors of them, to be searched by what a question
// says and by what it means. The file is SQLite's, so that a process that is killed leaves it whole, and readers go on
// while one process writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/store/file/database.h"

namespace weft::store {

/// How a new store makes words of a text: letters and digits of all scripts in small letters, without accents
/// (unicode61), and for "english" their stems (Porter 1980).
struct WordSettings {
  std::string stem = "none";  ///< "none" or "english"
};

/// How a model reads a text that is long.
struct Reading {
  std::int64_t max_length = 0;  ///< longest window in tokens; 0: the longest that the model takes
  bool truncate = false;        ///< what does not fit into one is cut; else it is read in windows
  bool operator==(const Reading&) const = default;
};

/// What the vectors of a store are: those of another model do not compare with them.
struct VectorSpace {
  std::string model;                  ///< directory, or name of the Hub, as it was given
  std::string digest;                 ///< of the model's config and weights, and of what its modules do
  std::int64_t width = 0;             ///< numbers of a vector
  std::string similarity = "cosine";  ///< or "dot"; vectors of cosine have length 1
  Reading reading = {};               ///< of passages, and so of questions

  /// Whether vectors of both compare, wherever the model lies.
  bool is_that_of(const VectorSpace& other) const noexcept {
    return digest == other.digest && width == other.width && similarity == other.similarity;
  }
};

/// How much a store holds.
struct StoreFacts {
  std::int64_t texts = 0;
  std::int64_t passages = 0;
  std::int64_t vectors = 0;
};

/// A passage with its text: bytes [begin, begin + text.size()) of the text `id`.
struct Passage {
  std::int64_t number = 0;
  std::string id;
  std::int64_t begin = 0;
  std::string title;
  std::string text;
};

/// What a model reads of a passage: the title, a blank and the text, or the text alone where there is no title, as BEIR
/// has it.
std::string readable(const Passage& passage);

class Store {
 public:
  /// A store that is opened to be read stays as it was then, whatever other processes write.
  /// Errors: as Database and check_schema(); kIo for a file that is not there, unless it may be made.
  Store(const std::filesystem::path& file, Access access, const WordSettings& words = {});

  Database& database() noexcept { return database_; }
  const std::string& name() const noexcept { return database_.name(); }
  const WordSettings& words() const noexcept { return words_; }
  StoreFacts facts();

  /// None where the store has no vectors.
  std::optional<VectorSpace> vector_space();
  /// Says what the vectors to come are, and where their model is. Those that are there go where they are of another
  /// model, or are to be computed anew.
  void set_vector_space(const VectorSpace& space, bool anew = false);
  /// Up to `count` passages without a vector, in the order of their numbers, behind `after`.
  std::vector<Passage> without_vector(std::int64_t after, std::int64_t count);

  /// Bytes of the `count` longest passages with their titles, the longest first; all passages are read for it.
  std::vector<std::int64_t> longest_passages(std::int64_t count);
  /// Errors: kFormat for a number that no passage has.
  Passage passage(std::int64_t number);
  /// The ids of the texts that passages are of. Errors: as passage().
  std::vector<std::string> ids_of(std::span<const std::int64_t> passages);

 private:
  std::optional<std::string> setting(const std::string& name);
  void set(const std::string& name, const std::string& value);

  Database database_;
  WordSettings words_;
};

}  // namespace weft::store
