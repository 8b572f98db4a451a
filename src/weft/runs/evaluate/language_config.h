// SPDX-License-Identifier: Apache-2.0
// How a language model is measured: what is scored, and how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/fields.h"

namespace weft::runs {

/// Of a decoder or a masked language model.
struct LanguageConfig {
  std::vector<std::string> text;
  std::vector<std::string> images;
  std::vector<std::string> audio;
  std::string audio_channel = "only";
  std::int64_t context = 0;
  std::int64_t memory = -1;
  std::int64_t compressed_memory = -1;
  std::vector<std::string> attention;
  bool like_transformers = false;
  std::int64_t max_bytes = 0;
  std::string dtype = "auto";
  double mask_probability = 0.15;
  std::string masking = "tokens";
  std::int64_t mask_window = 0;
  std::int64_t seed = 0;
  std::string token_scores;

  template <typename Visitor>
  static void fields(Visitor&& visit) {
    using C = LanguageConfig;
    visit(Field{"text", &C::text, "text to score: files and folders, in this order"});
    visit(Field{"images", &C::images,
                "pictures to score under a model of pictures: files and folders of PNG, PGM, PPM or CIFAR-10's .bin"});
    visit(Field{"audio", &C::audio, "sound to score under a model of sound: WAV files and folders of them"});
    visit(Field{"audio_channel", &C::audio_channel,
                "only: sound has one channel, any other is an error; first: the first channel of each file is taken"}
              .one_of({"only", "first"})
              .only_with_any({"audio"}));
    visit(Field{"context", &C::context,
                "tokens that the model reads at once; 0 for the length that the model was made for"}
              .at_least(0));
    visit(Field{"memory", &C::memory,
                "tokens before a segment of --context tokens that a decoder with attention `relative` or `span` "
                "remembers, more or "
                "fewer than it learned with; -1 for as many as it learned with, 0 for none"}
              .range(-1, 1 << 30));
    visit(Field{"attention", &C::attention,
                "pattern or mechanism to use instead of the one in config.json: one, or one a layer, or @FILE of weft "
                "prune or weft propose"});
    visit(Field{"like_transformers", &C::like_transformers,
                "compute as transformers does, where that is something else: a Reformer without the bias of the head, "
                "and keys of a short text twice; a Transformer-XL behind a memory of zeros"});
    visit(Field{"compressed_memory", &C::compressed_memory,
                "rows of the compressed memory of a decoder that has one, more or fewer than it learned with; -1 for "
                "as many as it learned with"}
              .range(-1, 1 << 30));
    visit(
        Field{"max_bytes", &C::max_bytes, "bytes to score, counted from the start of the text; 0 for all"}.at_least(0));
    visit(Field{
        "dtype", &C::dtype,
        "number format of matrix products: float32 or bfloat16; auto is what the run learned in, and for a model of no "
        "run bfloat16 where the device is fast at it"}
              .one_of({"auto", "float32", "bfloat16"}));
    visit(Field{"mask_probability", &C::mask_probability,
                "share of the tokens that are masked, for an encoder to predict"}
              .range(0.001, 1));
    visit(Field{"masking", &C::masking, "what is masked for an encoder: single tokens, whole words, or spans of words"}
              .one_of({"tokens", "words", "spans"}));
    visit(Field{"mask_window", &C::mask_window,
                "tokens of text that are masked together before they are cut into windows: the same tokens for every "
                "--context of which it is a multiple; 0 masks each window by itself"}
              .range(0, 1 << 30));
    visit(Field{"seed", &C::seed, "random seed that chooses the masked tokens"}.at_least(0));
    visit(Field{
        "token_scores", &C::token_scores,
        "file to write: a line of JSON for each token that a decoder scores, with place, bits, and whether it was the "
        "likeliest"});
  }
};

}  // namespace weft::runs
