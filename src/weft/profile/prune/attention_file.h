// SPDX-License-Identifier: Apache-2.0
// Where attention is "@FILE": the patterns of `weft prune` or `weft propose` in place of an expression.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/formats/config_json.h"
#include "weft/profile/prune/prune_file.h"

namespace weft::profile {

/// A file that an attention named.
struct AttentionFile {
  std::filesystem::path path;
  PrunedPatterns patterns;

  /// The patterns of a model of one stack. Errors: kArgument where the file is of an encoder-decoder, or has other
  /// layers or heads.
  const std::vector<std::string>& of_stack(std::int64_t layers, std::int64_t heads) const;
  /// The layers and heads of one list of an encoder-decoder: encoder_attention, decoder_attention, cross_attention.
  /// Errors: kArgument where the file has others.
  void check_list(std::string_view name, std::int64_t layers, std::int64_t heads) const;
  /// All three lists, for a model that writes (checkpoint::Facts). Errors: as check_list().
  template <typename Facts>
  void check_pair(const Facts& model) const {
    check_list("encoder_attention", model.reads.stack.layers, model.reads.stack.heads);
    check_list("decoder_attention", model.writes->stack.layers, model.writes->stack.heads);
    check_list("cross_attention", model.writes->stack.layers, model.writes->stack.heads);
  }
  /// The folder that files of the patterns lie below.
  std::filesystem::path graphs() const;
};

/// The file, where `attention` is one text that begins with @. Errors: as read_prune.
std::optional<AttentionFile> attention_file(const std::vector<std::string>& attention);

/// The file that the fields of a run name, whose patterns replace it: `attention`, or for pairs of texts the three
/// lists of an encoder-decoder. Errors: as read_prune, and kArgument where the file is of another kind of model.
std::optional<AttentionFile> take_attention_file(formats::Json& fields, bool for_pairs);

/// A line on stderr where the patterns were made for another model than that of `directory`: its attention may go
/// elsewhere.
void warn_of_other_model(const AttentionFile& file, const std::filesystem::path& directory);

}  // namespace weft::profile
