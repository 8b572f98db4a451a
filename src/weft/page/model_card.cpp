// SPDX-License-Identifier: Apache-2.0
// Several families name the same fact differently; the first name that is there counts.
#include "weft/page/model_card.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/files.h"
#include "weft/core/utf8_sequence.h"

namespace weft::page {
namespace {

using formats::Json;

constexpr std::uint64_t kLongestReadme = 1 << 20;
constexpr std::size_t kShownReadme = 16384;
constexpr std::size_t kShownLabels = 24;
constexpr std::size_t kLongestWord = 200;

// The file's content; nothing where it cannot be had. Errors: kFormat for a link that leaves the directory, because
// what it leads to would be published.
std::string text_of_file(const ModelFile& file, std::uint64_t most) {
  try {
    return file.exists() ? read_file(file, most) : "";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kIo) {
      throw;
    }
    return {};
  }
}

// Whole characters of UTF-8, at most so many bytes; others become a question mark.
std::string plain_text(std::string_view text, std::size_t most) {
  std::string result;
  while (!text.empty() && result.size() < most) {
    const std::size_t length = utf8_sequence_length(text);
    result += length == 0 ? "?" : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

void add_number(Json& card, const char* fact, const Json& config, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = config.find(name);
    if (found != config.end() && found->is_number_integer()) {
      card[fact] = *found;
      return;
    }
  }
}

void add_labels(Json& card, const Json& config) {
  const auto found = config.find("id2label");
  if (found == config.end() || !found->is_object()) {
    return;
  }
  Json labels = Json::array();
  for (std::size_t id = 0; id < kShownLabels && found->contains(std::to_string(id)); ++id) {
    const Json& label = found->at(std::to_string(id));
    if (label.is_string()) {
      labels.push_back(plain_text(label.get<std::string>(), kLongestWord));
    }
  }
  if (found->size() > kShownLabels) {
    labels.push_back("...");
  }
  card["labels"] = std::move(labels);
}

void add_weights(Json& card, const std::filesystem::path& directory) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string end = entry.path().extension().string();
    const std::uintmax_t size = end == ".safetensors" || end == ".bin" ? entry.file_size(error) : 0;
    bytes += error ? 0 : size;
  }
  if (bytes > 0) {
    card["weight_bytes"] = bytes;
  }
}

// "name: value" of the lines between the two "---" that a card of the Hub begins with.
std::string front_value(std::string_view front, const std::string& name) {
  const std::string start = "\n" + name + ":";
  const std::size_t at = front.find(start);
  if (at == std::string_view::npos) {
    return {};
  }
  std::string_view line = front.substr(at + start.size());
  line = line.substr(0, line.find('\n'));
  const std::size_t begin = line.find_first_not_of(" \t\"'");
  return begin == std::string_view::npos
             ? ""
             : plain_text(line.substr(begin, line.find_last_not_of(" \t\r\"'") + 1 - begin), kLongestWord);
}

void add_readme(Json& card, const std::filesystem::path& directory) {
  const std::string text = text_of_file(ModelFile(directory, "README.md"), kLongestReadme);
  std::string_view body = text;
  constexpr std::string_view kFence = "\n---";
  if (body.starts_with("---\n")) {
    const std::size_t end = body.find(kFence, 3);
    const std::string_view front = body.substr(0, end);
    if (const std::string license = front_value(front, "license"); !license.empty()) {
      card["license"] = license;
    }
    body = end == std::string_view::npos ? "" : body.substr(end + kFence.size());
  }
  const std::size_t begin = body.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos) {
    card["readme"] = plain_text(body.substr(begin), kShownReadme);
    if (body.size() - begin > kShownReadme) {
      card["readme"] = card["readme"].get<std::string>() + "\n\n...";
    }
  }
}

}  // namespace

Json model_card(const std::filesystem::path& directory, const std::filesystem::path& model, const Json& config) {
  Json card = Json::object();
  if (const auto type = config.find("model_type"); type != config.end() && type->is_string()) {
    card["model_type"] = plain_text(type->get<std::string>(), kLongestWord);
  }
  add_number(card, "layers", config, {"num_hidden_layers", "encoder_layers", "num_layers", "n_layer", "layers"});
  add_number(card, "width", config, {"hidden_size", "d_model", "n_embd", "width"});
  add_number(card, "heads", config, {"num_attention_heads", "encoder_attention_heads", "num_heads", "n_head", "heads"});
  add_number(card, "vocabulary", config, {"vocab_size", "vocabulary"});
  add_number(card, "maximum_length", config, {"max_position_embeddings", "n_positions", "context"});
  add_labels(card, config);
  add_weights(card, model);
  add_readme(card, directory);
  return card;
}

void add_card_routes(server::Router& router, const std::map<std::string, Json>& cards) {
  for (const auto& [name, card] : cards) {
    router.add("GET", "/v1/models/" + name,
               [card](const server::Request&) -> server::Answer { return server::json_reply(card); },
               {.summary = "What the model's directory says of it.", .answer = {{"type", "object"}}});
  }
}

}  // namespace weft::page
