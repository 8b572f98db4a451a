// SPDX-License-Identifier: Apache-2.0
// JSON documents within limits. nlohmann's own document builder would take the last of two equal keys, and quadratic
// time for an object with many keys.
#include "weft/formats/config_json.h"

#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/core/files.h"
#include "weft/core/quote.h"
#include "weft/formats/json_events.h"

namespace weft::formats {
namespace {

// Builds a document on a stack of its own, one level for each object or list that is open.
class DocumentBuilder : public JsonEvents {
 public:
  explicit DocumentBuilder(int maximum_depth) : maximum_depth_(maximum_depth) {}
  Json take() { return std::move(root_); }

  bool null() override { return add(Json(nullptr)); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(Json(value)); }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
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
  std::vector<Level> levels_;
  Json root_;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view where, int maximum_depth) {
  DocumentBuilder builder(maximum_depth);
  builder.parse(text, where);
  return builder.take();
}

Json read_json(const std::filesystem::path& path) {
  constexpr std::uint64_t kMaximumBytes = std::uint64_t{64} << 20;
  return parse_json(read_file(path, kMaximumBytes), quote(path.native(), 4096));
}

std::string print_json(const Json& json, int indent) {
  try {
    return json.dump(indent);
  } catch (const Json::exception&) {
    fail(ErrorKind::kArgument, "cannot print JSON: a string in it is not UTF-8");
  }
}

}  // namespace weft::formats
