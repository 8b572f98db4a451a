// SPDX-License-Identifier: Apache-2.0
// The rules of huggingface_hub's validate_repo_id, and of git for the names of revisions.
#include "weft/hub/model_name.h"

#include <algorithm>

namespace weft::hub {
namespace {

constexpr std::string_view kFolderBegin = "models--";
constexpr std::size_t kLongestRepository = 96;
constexpr std::size_t kLongestRevision = 128;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_word(char c) { return is_letter_or_digit(c) || c == '_'; }

// One part of a repository's name: words, points and dashes, with a word at each end.
bool is_part(std::string_view part) {
  const auto allowed = [](char c) { return is_word(c) || c == '.' || c == '-'; };
  return !part.empty() && is_word(part.front()) && is_word(part.back()) && std::ranges::all_of(part, allowed) &&
         part.find("..") == std::string_view::npos && part.find("--") == std::string_view::npos;
}

bool is_repository(std::string_view text) {
  const std::size_t slash = text.find('/');
  return text.size() <= kLongestRepository && is_part(text.substr(0, slash)) && !text.ends_with(".git") &&
         (slash == std::string_view::npos || is_part(text.substr(slash + 1)));
}

// Its parts become folders below refs/: none may be empty or begin with a point.
bool is_revision(std::string_view text) {
  const auto allowed = [](char c) { return is_word(c) || c == '.' || c == '-' || c == '/' || c == '+'; };
  if (text.empty() || text.size() > kLongestRevision || !std::ranges::all_of(text, allowed)) {
    return false;
  }
  const std::string slashed = "/" + std::string(text) + "/";
  return slashed.find("//") == std::string::npos && slashed.find("/.") == std::string::npos &&
         slashed.find("..") == std::string::npos;
}

}  // namespace

std::string ModelName::text() const { return revision == "main" ? repository : repository + "@" + revision; }

std::string ModelName::folder() const {
  std::string name(kFolderBegin);
  for (const char c : repository) {
    name += c == '/' ? "--" : std::string(1, c);
  }
  return name;
}

bool ModelName::is_one_word() const { return repository.find('/') == std::string::npos; }

std::optional<ModelName> parse_model_name(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::string_view repository = text.substr(0, at);
  const std::string_view revision = at == std::string_view::npos ? "main" : text.substr(at + 1);
  if (!is_repository(repository) || !is_revision(revision)) {
    return std::nullopt;
  }
  return ModelName{std::string(repository), std::string(revision)};
}

std::optional<std::string> repository_of_folder(std::string_view folder) {
  if (!folder.starts_with(kFolderBegin)) {
    return std::nullopt;
  }
  std::string name(folder.substr(kFolderBegin.size()));
  const std::size_t dashes = name.find("--");
  if (dashes != std::string::npos) {
    name.replace(dashes, 2, "/");
  }
  return is_repository(name) ? std::optional(name) : std::nullopt;
}

bool is_hex(std::string_view text, std::size_t digits) {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == digits && std::ranges::all_of(text, hex);
}

}  // namespace weft::hub
