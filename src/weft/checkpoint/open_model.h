// SPDX-License-Identifier: Apache-2.0
// The door to a model directory: what a user's DIR turns out to be, before a weight of it is read. config.json is read
// here alone, once for each OpenedModel: pass it on. Each error says what to do next.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/checkpoint/ability.h"
#include "weft/checkpoint/facts.h"
#include "weft/formats/config_json.h"
#include "weft/models/encoder_config.h"
#include "weft/models/encoder_decoder_config.h"
#include "weft/models/transformer_config.h"

namespace weft::models {
struct CausalRules;
}

namespace weft::checkpoint {

/// A directory whose config.json has been read. What it holds is checked when it is asked for, and kept.
class OpenedModel {
 public:
  explicit OpenedModel(std::filesystem::path directory);

  /// The folder with config.json, the weights and the tokeniser.
  const std::filesystem::path& path() const noexcept { return path_; }
  /// What was opened: path(), or the directory above it, whose modules.json puts the transformer into a sub-folder.
  const std::filesystem::path& root() const noexcept { return root_; }
  /// config.json as it was read, without what holds_int8() says: an object with a model_type.
  const formats::Json& json() const noexcept { return json_; }
  /// Whether its weights are int8 codes with scales (int8/quantization_config.h).
  bool holds_int8() const noexcept { return int8_; }
  /// From now on whoever loads its weights gets them as int8: linear layers, and the tables of tokens.
  void ask_for_int8() const noexcept { asked_int8_ = true; }
  /// Whether what is loaded computes with int8: it was asked for, or the file has nothing else.
  bool computes_int8() const noexcept { return int8_ || asked_int8_; }
  /// Errors: kUnsupported where the file has nothing else; `what` (training, ...) needs floating-point weights.
  void need_floating(std::string_view what) const;
  /// Whether it has the ability, by a valid config. Errors: those of the config; kUnsupported for a model_type that
  /// Weft does not open.
  bool can(Ability ability) const;
  /// Errors: as can(); kUnsupported or kFormat where it has not, naming the directory, what it holds and the commands
  /// that open such a model.
  void need(Ability ability) const;
  /// What it is for whoever asks for `ability`. Errors: those of need().
  Facts facts(Ability ability) const;
  /// What it is, whatever it is asked for: for a model that reads and predicts, as one that predicts.
  Facts facts() const;
  /// The head that `architectures` names, or where it names none the one that the weights hold, which a warning says.
  /// Errors: as need() of Ability::kRead; kUnsupported for one that Weft does not have.
  models::Head head() const;
  /// For whoever needs the head `wanted`, before head() or anything else of an encoder is asked for: where
  /// `architectures` leaves the head open, it is `wanted` if the weights hold that one, whatever else they would fit
  /// (choose_head()). Whether that makes it another one than it was.
  bool prefer(models::Head wanted) const;

 private:
  // Who loads a model has its config: encoder_directory.h, encoder_decoder/directory.h, model_directory.h.
  friend models::EncoderConfig load_encoder_config(const OpenedModel& directory);
  friend models::EncoderDecoderConfig load_encoder_decoder_config(const OpenedModel& directory);
  friend models::TransformerConfig load_config(const OpenedModel& directory);
  friend const models::CausalRules& predictor_rules(const OpenedModel& directory);

  // Each is read when it is first asked for. Errors: those of need().
  const models::EncoderConfig& encoder_config() const;
  const models::EncoderDecoderConfig& encoder_decoder_config() const;
  const models::TransformerConfig& own_config() const;
  // How the family of own_config() is read and written.
  const models::CausalRules& predictor() const;

  std::filesystem::path root_;
  std::filesystem::path path_;
  formats::Json json_;
  bool int8_;
  mutable bool asked_int8_ = false;
  mutable std::optional<models::Head> wanted_;
  mutable std::optional<models::EncoderConfig> encoder_;
  mutable std::optional<models::EncoderDecoderConfig> pair_;
  mutable std::optional<models::TransformerConfig> own_;
};

/// Errors: those of read_model_config().
OpenedModel open_model(const std::filesystem::path& directory);

/// A directory that is opened when its model is first asked for, and only then.
class ModelOnDemand {
 public:
  explicit ModelOnDemand(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Errors: those of open_model().
  const OpenedModel& get() const;

 private:
  std::filesystem::path directory_;
  mutable std::optional<OpenedModel> opened_;
};

}  // namespace weft::checkpoint
