// SPDX-License-Identifier: Apache-2.0
// JSON documents within limits. nlohmann's own document builder would take the last of two equal keys, and quadratic
// time for an object with many keys.
#include "weft/formats/config_json.h"

#include <array>
#include <limits>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/formats/json_events.h"
#include "weft/formats/python_json.h"

namespace weft::formats {
namespace {

/// By the byte where each ends.
using PythonNumbers = std::unordered_map<std::uint64_t, double>;

// Builds a document on a stack of its own, one level for each object or list that is open.
class DocumentBuilder : public JsonEvents {
 public:
  explicit DocumentBuilder(int maximum_depth, const PythonNumbers* numbers = nullptr)
      : maximum_depth_(maximum_depth), numbers_(numbers) {}
  Json take() { return std::move(root_); }

  bool null() override { return add(Json(nullptr)); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(Json(value)); }
  bool string(string_t& value) override {
    if (numbers_ != nullptr) {
      if (const auto found = numbers_->find(offset()); found != numbers_->end()) {
        return add(Json(found->second));
      }
    }
    return add(Json(std::move(value)));
  }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    if (numbers_ != nullptr && numbers_->contains(offset())) {
      reject("not valid JSON: a key must be a string");
    }
    if (!levels_.back().keys.insert(value).second) {
      reject("the key ", quote(value), " appears twice in one object");
    }
    levels_.back().key = std::move(value);
    return true;
  }

 private:
  struct Level {
    Json value;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  bool add(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Level& level = levels_.back();
    if (level.value.is_array()) {
      level.value.push_back(std::move(value));
    } else {
      // Straight to the vector below the ordered map, whose own insertion searches all keys.
      auto& members = level.value.get_ref<Json::object_t&>();
      static_cast<Json::object_t::Container&>(members).emplace_back(std::move(level.key), std::move(value));
    }
    return true;
  }

  bool open(Json value) {
    if (levels_.size() >= static_cast<std::size_t>(maximum_depth_)) {
      reject("JSON may nest at most ", maximum_depth_, " levels deep");
    }
    levels_.push_back({std::move(value), {}, {}});
    return true;
  }

  bool close() {
    Json value = std::move(levels_.back().value);
    levels_.pop_back();
    return add(std::move(value));
  }

  std::size_t maximum_depth_;
  const PythonNumbers* numbers_;
  std::vector<Level> levels_;
  Json root_;
};

/// Puts a string of the same length in the place of each number that JSON has not, so that byte offsets stay.
PythonNumbers hide_python_numbers(std::string& text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::array<std::pair<std::string_view, double>, 3> kWords{
      {{"NaN", std::numeric_limits<double>::quiet_NaN()}, {"Infinity", kInfinity}, {"-Infinity", -kInfinity}}};
  PythonNumbers numbers;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    if (quoted || byte == '"') {
      at += quoted && byte == '\\' ? 1 : 0;  // what is escaped ends no string
      quoted = quoted != (byte == '"');
      continue;
    }
    for (const auto& [word, value] : kWords) {
      if (std::string_view(text).substr(at, word.size()) == word) {
        text.replace(at, word.size(), '"' + std::string(word.size() - 2, '.') + '"');
        at += word.size() - 1;
        numbers.emplace(at, value);
        break;
      }
    }
  }
  return numbers;
}

}  // namespace

Json parse_json(std::string_view text, std::string_view where, int maximum_depth) {
  DocumentBuilder builder(maximum_depth);
  builder.parse(text, where);
  return builder.take();
}

Json parse_python_json(std::string text, std::string_view where, int maximum_depth) {
  const PythonNumbers numbers = hide_python_numbers(text);
  DocumentBuilder builder(maximum_depth, &numbers);
  builder.parse(text, where);
  return builder.take();
}

Json read_json(const FilePlace& file) {
  constexpr std::uint64_t kMaximumBytes = std::uint64_t{64} << 20;
  return parse_python_json(read_file(file, kMaximumBytes), quote(file.path().native(), 4096));
}

std::string print_json(const Json& json, int indent) {
  try {
    return json.dump(indent);
  } catch (const Json::exception&) {
    fail(ErrorKind::kArgument, "cannot print JSON: a string in it is not UTF-8");
  }
}

}  // namespace weft::formats
