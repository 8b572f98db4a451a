// SPDX-License-Identifier: Apache-2.0
// The first process tells its terms; whoever has others says which, and all learn of the lowest of these processes.
#include "weft/training/processes/agreement.h"

#include <cstdint>
#include <string>

#include "weft/core/error.h"
#include "weft/training/processes/process_group.h"

namespace weft::training {
namespace {

using formats::Json;

// ASCII, so that it can be cut anywhere.
std::string text_of(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }

std::string value_text(const Json& value) {
  constexpr std::size_t kLongest = 160;
  std::string text = text_of(value);
  if (text.size() > kLongest) {
    text = text.substr(0, kLongest) + "...";
  }
  return text;
}

// Collects the first differences in words.
class Differences {
 public:
  explicit Differences(std::int64_t rank) : rank_(rank) {}

  void add(const std::string& name, const Json* own, const Json* first) {
    if (++count_ > kNamed) {
      return;
    }
    text_ += concat(text_.empty() ? "" : "; ", "process ", rank_, " trains ", with(name, own), ", process 0 ",
                    first == nullptr ? "without" : concat("with ", value_text(*first)));
  }

  std::string text() const { return count_ > kNamed ? concat(text_, "; and ", count_ - kNamed, " more") : text_; }

 private:
  static constexpr std::int64_t kNamed = 3;

  static std::string with(const std::string& name, const Json* value) {
    return value == nullptr ? "without " + name : concat("with ", name, " ", value_text(*value));
  }

  std::int64_t rank_;
  std::int64_t count_ = 0;
  std::string text_;
};

}  // namespace

std::string differing_terms(const Json& own, const Json& first, std::int64_t rank) {
  Differences found(rank);
  for (const auto& [name, value] : first.items()) {
    const auto mine = own.find(name);
    if (mine == own.end() || *mine != value) {
      found.add(name, mine == own.end() ? nullptr : &*mine, &value);
    }
  }
  for (const auto& [name, value] : own.items()) {
    if (!first.contains(name)) {
      found.add(name, &value, nullptr);
    }
  }
  return found.text();
}

void require_agreement(const Json& terms) {
  ProcessGroup& group = processes();
  if (group.is_alone()) {
    return;
  }
  // Through text on both sides: numbers and bytes that are no UTF-8 then compare alike.
  const std::string own = text_of(terms);
  const Json first = Json::parse(group.text_from_first(own));
  const std::string found = group.first_text(differing_terms(Json::parse(own), first, group.rank()));
  if (!found.empty()) {
    group.fail_together();
    throw Error(ErrorKind::kUnsupported, found,
                "processes that train together need the same settings, data and model: docs/training.md says what may "
                "differ");
  }
}

}  // namespace weft::training
