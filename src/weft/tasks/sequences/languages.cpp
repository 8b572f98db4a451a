// SPDX-License-Identifier: Apache-2.0
// A model of one pair of languages has no codes, and perhaps names in tokenizer_config.json; one of several has codes.
#include "weft/tasks/sequences/languages.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/joined.h"
#include "weft/core/log.h"
#include "weft/core/quote.h"

namespace weft::tasks {
namespace {

// The language that the directory names, against the one that was asked for.
void check_language(const SequenceModel& model, const char* side, const std::string& named, const std::string& asked) {
  if (asked.empty() || asked == named) {
    return;
  }
  require(named.empty(), model.name, ": the model's ", side, " language is ", quote(named), ", not ", quote(asked));
  log_warning(model.name, " does not name its ", side, " language: whether that is ", quote(asked),
              " cannot be checked");
}

}  // namespace

std::string some_codes(const std::vector<std::string>& codes) {
  constexpr std::size_t kMost = 12;
  const std::vector<std::string> some(codes.begin(),
                                      codes.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, codes.size())));
  return joined(some, ", ", [](const std::string& code) { return quote(code.substr(2, code.size() - 4)); }) +
         (codes.size() > kMost ? concat(" and ", codes.size() - kMost, " others") : std::string());
}

std::string own_code(const std::string& text, const std::vector<std::string>& codes) {
  const auto found =
      std::find_if(codes.begin(), codes.end(), [&](const std::string& code) { return text.starts_with(code); });
  return found == codes.end() ? std::string() : *found;
}

std::optional<std::string> language_code(const SequenceModel& model, const std::string& source,
                                         const std::string& target) {
  check_language(model, "source", model.source_language, source);
  const std::vector<std::string> codes = model.tokenizer->language_codes();
  if (codes.empty()) {
    check_language(model, "target", model.target_language, target);
    return std::nullopt;
  }
  if (target.empty()) {
    return std::nullopt;
  }
  std::string code = target.starts_with(">>") ? target : concat(">>", target, "<<");
  require(std::binary_search(codes.begin(), codes.end(), code), model.name, ": the model does not write ",
          quote(target), "; its languages are ", some_codes(codes));
  return code;
}

}  // namespace weft::tasks
