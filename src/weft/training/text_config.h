// SPDX-License-Identifier: Apache-2.0
// What a task over text, pictures or sound learns from: which files, how long their windows are, what is masked. The
// field list is the group "Text" of `weft train`'s flags; a run's training.json has it beside the trainer's fields.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/fields.h"
#include "weft/formats/config_json.h"
#include "weft/training/trainer_config.h"

namespace weft::training {

/// The field list says what each field means and which values it takes.
struct TextConfig {
  std::vector<std::string> train_text;
  std::vector<std::string> eval_text;
  std::vector<std::string> train_images;
  std::vector<std::string> eval_images;
  std::vector<std::string> train_audio;
  std::vector<std::string> eval_audio;
  std::string audio_channel = "only";
  std::int64_t context = 1024;
  std::int64_t stream_tokens = 0;
  double mask_probability = 0.15;
  std::string masking = "tokens";
  std::int64_t max_eval_bytes = 262144;
  double span_loss = 0.0;
  double contrastive_weight = 0.0;
  double hidden_sentences = 0.1;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    file_fields(visit);
    learning_fields(visit);
  }

 private:
  /// What is read.
  template <typename Visitor>
  static void file_fields(Visitor& visit) {
    using C = TextConfig;
    visit(Field{"train_text", &C::train_text, "files and folders to train on"});
    visit(Field{"eval_text", &C::eval_text,
                "held-out files and folders to evaluate on; without them nothing is evaluated"});
    visit(Field{
        "train_images", &C::train_images,
        "pictures of one size to train on, in place of text: files and folders of PNG, PGM, PPM or CIFAR-10's .bin"});
    visit(Field{"eval_images", &C::eval_images, "held-out pictures to evaluate on"});
    visit(Field{
        "train_audio", &C::train_audio,
        "sound to train on, in place of text: WAV files and folders of them; each sample becomes a byte (mu-law)"});
    visit(Field{"eval_audio", &C::eval_audio, "held-out sound to evaluate on"});
    visit(Field{"audio_channel", &C::audio_channel,
                "only: sound has one channel, any other is an error; first: the first channel of each file is taken"}
              .one_of({"only", "first"})
              .only_with_any({"train_audio"}));
  }

  /// What is learned of it.
  template <typename Visitor>
  static void learning_fields(Visitor& visit) {
    using C = TextConfig;
    visit(Field{"context", &C::context, "tokens of a training window; with pictures a window is a whole picture"}.range(
        1, kMostTokens));
    visit(Field{"stream_tokens", &C::stream_tokens,
                "tokens that a row of a model with a memory reads without a break, before it goes on elsewhere with an "
                "empty memory; 0: 32 times the longer of memory and context"}
              .range(0, kMostTokens)
              .only_with_any({"memory_length"}));
    visit(Field{"mask_probability", &C::mask_probability,
                "share of the tokens that are masked, for an encoder to predict"}
              .range(0.001, 1));
    visit(Field{"masking", &C::masking, "what is masked for an encoder: single tokens, whole words, or spans of words"}
              .one_of({"tokens", "words", "spans"}));
    visit(Field{"max_eval_bytes", &C::max_eval_bytes,
                "held-out bytes that an evaluation reads, of pictures whole ones; 0 for all"}
              .at_least(0)
              .only_with_any({"eval_text", "eval_images", "eval_audio"}));
    visit(
        Field{"span_loss", &C::span_loss,
              "attention `span`: added to the loss for each token of a layer's mean span, summed over the layers, for "
              "example 2e-6; 0 leaves spans free"}
            .range(0, 1));
    visit(Field{"contrastive_weight", &C::contrastive_weight,
                "of a model with a token for each sentence: share in the loss of telling hidden sentences from each "
                "other by these tokens, for example 0.2; the masked tokens have the rest"}
              .range(0, 1));
    visit(Field{"hidden_sentences", &C::hidden_sentences,
                "of such a model: share of the sentences that are hidden for the contrastive loss"}
              .range(0.001, 1)
              .only_with_any({"contrastive_weight"}));
  }
};

/// What a config's files hold.
enum class DataKind { kText, kPictures, kSound };
DataKind data_kind(const TextConfig& config);
/// The files to train on, and those held out, whatever they hold.
const std::vector<std::string>& training_paths(const TextConfig& config);
const std::vector<std::string>& held_out_paths(const TextConfig& config);
/// The field that names the files to train on: "train_text".
std::string_view training_field(const TextConfig& config);

/// Every field, files of one kind to train on, and none of another kind. Errors: kArgument naming `where`, the field,
/// the rule and the value.
void check_config(const TextConfig& config, std::string_view where);

/// `stream_tokens`, or what its 0 stands for with a memory of so many tokens. A thirtieth of the segments has no memory
/// then, and a short run still sees many places of the text.
std::int64_t stream_tokens(const TextConfig& config, std::int64_t memory_length);

/// `config` as a run directory keeps it: its paths are absolute.
TextConfig resolved(TextConfig config);

/// The text of a resumed run: what its training.json records, with what `given` names laid over it, which leaves
/// `given`; resolved. The places of the text and how much of it is evaluated may change. Errors: as check_same.
TextConfig resumed_text(const formats::Json& recorded, formats::Json& given, const std::filesystem::path& where);

}  // namespace weft::training
