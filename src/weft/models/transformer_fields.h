// SPDX-License-Identifier: Apache-2.0
// What each field of a TransformerConfig is called, what it means and what it may be. Included by transformer_config.h.
#pragma once

#include "weft/core/fields.h"
#include "weft/models/transformer_config.h"

namespace weft::models {

/// How large the model is.
template <typename Visitor>
void visit_shape(Visitor& visit) {
  using C = TransformerConfig;
  visit(Field{"vocab_size", &C::vocab_size, "number of token ids"}.range(1, 1 << 24));
  visit(Field{"hidden_size", &C::hidden_size, "width of the hidden states"}.range(1, 1 << 18));
  visit(Field{"num_hidden_layers", &C::num_hidden_layers, "number of layers"}.range(1, 4096));
  visit(Field{"num_attention_heads", &C::num_attention_heads, "attention heads of a layer"}.range(1, 4096));
  visit(Field{"num_key_value_heads", &C::num_key_value_heads, "heads of keys and values; 0 for one for each query head"}
            .range(0, 4096));
  visit(Field{"attention_head_size", &C::attention_head_size,
              "columns of an attention head; 0 for the width of the hidden states, shared among the heads"}
            .range(0, 1 << 16)
            .since("0.1.0"));
  visit(Field{"intermediate_size", &C::intermediate_size,
              "width inside the feed-forward; 0 for 4 times the width of the hidden states"}
            .range(0, 1 << 20));
  visit(Field{"max_position_embeddings", &C::max_position_embeddings,
              "longest text that the model is made for, in tokens; a hard limit with learned positions only"}
            .range(1, std::int64_t{1} << 40));
}

/// How a token knows its position, and streams of residuals.
template <typename Visitor>
void visit_positions(Visitor& visit) {
  using C = TransformerConfig;
  visit(Field{"position_embedding", &C::position_embedding,
              "how a token knows its position; picture adds learned rows, columns and channels, stride learned rows "
              "and columns of position_stride; none leaves that to the attention: relative"}
            .one_of({"rotary", "learned", "axial", "picture", "stride", "sinusoidal", "alibi", "none"}));
  visit(Field{"learned_slopes", &C::learned_slopes,
              "each head of each layer learns its slope of alibi positions, which begins as published; an encoder's "
              "learns one for each side"}
            .since("0.1.0"));
  visit(Field{"axial_pos_shape", &C::axial_pos_shape,
              "rows and columns of the rectangle that axial positions are laid out in, which holds "
              "max_position_embeddings of them; none for the one nearest to a square"}
            .since("0.1.0"));
  visit(Field{"axial_pos_embds_dim", &C::axial_pos_embds_dim,
              "width of the embeddings of these rows and columns, together that of the hidden states; none for a "
              "quarter and three quarters"}
            .since("0.1.0"));
  visit(Field{"residual", &C::residual,
              "residual connections: plain, or reversible: two streams, so that memory for training does not grow "
              "with the number of layers"}
            .one_of({"plain", "reversible"})
            .since("0.1.0"));
  visit(Field{"picture_shape", &C::picture_shape,
              "rows, columns and channels of the pictures that the model learns; empty for text and sound"}
            .since("0.1.0"));
  visit(Field{"position_stride", &C::position_stride,
              "columns of the rectangle that stride positions are laid out in, which is the stride of the attention; "
              "0 for the one nearest to a square"}
            .range(0, 1 << 24)
            .since("0.1.0"));
}

/// What a layer is.
template <typename Visitor>
void visit_layer(Visitor& visit) {
  using C = TransformerConfig;
  visit(Field{"norm_position", &C::norm_position, "layer norm before (pre) or after (post) a sublayer"}.one_of(
      {"pre", "post"}));
  visit(Field{"hidden_act", &C::hidden_act, "activation of the feed-forward"}.one_of(
      {"gelu", "gelu_new", "quick_gelu", "relu", "silu", "swiglu"}));
  visit(Field{"attention", &C::attention, "mechanism or pattern: one for all layers, or one for each layer"});
  visit(Field{"attention_bias", &C::attention_bias, "the projections of attention have a bias"}.since("0.1.0"));
}

/// What the model around the layers is.
template <typename Visitor>
void visit_model(Visitor& visit) {
  using C = TransformerConfig;
  visit(Field{"is_decoder", &C::is_decoder, "causal language model; otherwise an encoder with a masked-LM head"});
  visit(Field{"hidden_dropout_prob", &C::hidden_dropout_prob, "dropout on embeddings and sublayer outputs"}.range(
      0.0, 0.999));
  visit(Field{"attention_probs_dropout_prob", &C::attention_probs_dropout_prob, "dropout on attention probabilities"}
            .range(0.0, 0.999));
  visit(
      Field{"initialization", &C::initialization,
            "first weights: normal draws them with initializer_range; fan_in with 0.125 / sqrt(inputs of the matrix), "
            "and the head is 0 (Sparse Transformer)"}
          .one_of({"normal", "fan_in"})
          .since("0.1.0"));
  visit(Field{"initializer_range", &C::initializer_range, "standard deviation of initial weights"}
            .range(0.0, 10.0)
            .only_with("initialization", {"normal"}));
  visit(Field{"tie_word_embeddings", &C::tie_word_embeddings, "the head uses the token embeddings"});
  visit(Field{"lm_head_bias", &C::lm_head_bias,
              "a decoder's head has a bias; an encoder's, which has one anyway, has no layer before the product"}
            .since("0.1.0"));
  visit(Field{"span_boundary_objective", &C::span_boundary_objective,
              "an encoder learns to predict masked spans from the tokens around them, too (SpanBERT)"});
  visit(Field{"layer_norm_eps", &C::layer_norm_eps, "added to the variance in layer norms"}.range(1e-12, 1.0));
  visit(Field{"rope_theta", &C::rope_theta, "base of the rotary frequencies"}.range(1.0, 1e12).only_with(
      "position_embedding", {"rotary"}));
}

/// What a decoder remembers.
template <typename Visitor>
void visit_memory(Visitor& visit) {
  using C = TransformerConfig;
  visit(Field{"memory_length", &C::memory_length,
              "tokens before a segment that a decoder remembers in each layer (Transformer-XL); 0 for none: each "
              "segment is a text of its own"}
            .range(0, 1 << 30)
            .since("0.1.0"));
  visit(Field{"compressed_memory_length", &C::compressed_memory_length,
              "rows before the memory that a decoder remembers, each of compression_rate tokens that left the "
              "memory (Compressive Transformer); 0 for none: what leaves is forgotten"}
            .range(0, 1 << 30)
            .since("0.1.0"));
  visit(Field{"compression", &C::compression,
              "how tokens become a row: a convolution that learns to keep what is read from them, their mean, or the "
              "largest number of each column"}
            .one_of({"convolution", "mean", "max"})
            .only_with_any({"compressed_memory_length"})
            .since("0.1.0"));
  visit(Field{"compression_rate", &C::compression_rate, "tokens that become a row of the compressed memory"}
            .range(1, 1 << 20)
            .only_with_any({"compressed_memory_length"})
            .since("0.1.0"));
}

/// Clusters of the vocabulary, and how the model runs.
template <typename Visitor>
void visit_running(Visitor& visit) {
  using C = TransformerConfig;
  visit(Field{"vocabulary_cutoffs", &C::vocabulary_cutoffs,
              "first ids of the clusters behind the first one (adaptive softmax): rare ids, which a tokeniser has "
              "last, are scored within their cluster; none for one softmax over all ids"}
            .since("0.1.0"));
  visit(Field{"vocabulary_division", &C::vocabulary_division,
              "each cluster's embeddings have so many times fewer columns than those of the one before it (adaptive "
              "input)"}
            .range(1, 1 << 18)
            .since("0.1.0"));
  visit(Field{"variant", &C::variant,
              "transformer-xl, as released: embeddings times the root of their width and without a norm, attention "
              "without biases, a bias for each id, dropout behind the last layer; scores-by-layer: the scores of "
              "attention are divided by the number of the layer, from 1"}
            .one_of({"weft", "transformer-xl", "scores-by-layer"})
            .since("0.1.0"));
  visit(Field{"chunk_size_feed_forward", &C::chunk_size_feed_forward,
              "positions that a feed-forward computes at once, and again in the backward pass; 0 for all"}
            .range(0, 1 << 30)
            .since("0.1.0"));
  visit(
      Field{"loss_chunk_size", &C::loss_chunk_size, "positions whose logits are in memory at once; 0 lets Weft choose"}
          .at_least(0)
          .since("0.1.0"));
  visit(Field{"gradient_checkpointing", &C::gradient_checkpointing,
              "save memory: compute each layer again in the backward pass"}
            .since("0.1.0"));
  visit(Field{"tokenizer_class", &C::tokenizer_class, "how text becomes ids"}.one_of(
      {"bytes", "bytes+2", "sentencepiece", "huggingface"}));
}

template <typename Visitor>
void TransformerConfig::fields(Visitor&& visit) {
  visit_shape(visit);
  visit_positions(visit);
  visit_layer(visit);
  visit_model(visit);
  visit_memory(visit);
  visit_running(visit);
}

}  // namespace weft::models
