// SPDX-License-Identifier: Apache-2.0
// Any bytes as modules.json, sentence_bert_config.json or config_sentence_transformers.json: either a one-line error,
// or settings that keep their rules.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support/tokenise.h"
#include "support/temporary_directory.h"
#include "weft/checkpoint/sentence/sentence_settings.h"
#include "weft/core/log.h"

namespace {

using weft::checkpoint::ListedModule;

void expect(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void write(const std::filesystem::path& file, std::string_view content) {
  std::ofstream(file, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

void read_list(const std::filesystem::path& directory) {
  const std::vector<ListedModule> list = weft::checkpoint::read_sentence_list(directory);
  expect(!list.empty() && list.front().kind == "Transformer");
  for (const ListedModule& listed : list) {
    expect(listed.path.is_relative() && listed.where.find('\n') == std::string::npos);
  }
}

void read_settings(const std::filesystem::path& directory) {
  const auto settings = weft::checkpoint::read_sentence_settings(directory, {{"Transformer", "", "module 0"}});
  expect(settings.max_seq_length >= 0 && settings.truncate_dim >= 0);
  expect(settings.default_prompt_name.empty() || settings.prompts.contains(settings.default_prompt_name));
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that fuzzing engines call
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const weft::test::TemporaryDirectory folder;
  weft::set_log_level(weft::LogLevel::kError);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::filesystem::path limits = folder / weft::checkpoint::kSentenceTransformerFiles.front();
  write(folder / weft::checkpoint::kSentenceModules, bytes);
  weft::fuzz::one_line_errors([] { read_list(folder.path()); });
  write(folder / weft::checkpoint::kSentenceSettings, bytes);
  write(limits, "{}");
  weft::fuzz::one_line_errors([] { read_settings(folder.path()); });
  write(folder / weft::checkpoint::kSentenceSettings, "{}");
  write(limits, bytes);
  weft::fuzz::one_line_errors([] { read_settings(folder.path()); });
  return 0;
}
