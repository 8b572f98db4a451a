// SPDX-License-Identifier: Apache-2.0
// The attention of a model on one text, for a page: which heads, the texts on both sides, and a picture of each head.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "weft/attention/profile/attention_observer.h"
#include "weft/attention/profile/head_picture.h"
#include "weft/tasks/viewer/kept_attention.h"

namespace weft::tasks {

/// What is drawn.
struct ViewOptions {
  std::vector<std::int64_t> layers = {};  ///< numbers, in encoder and decoder alike; empty: all
  std::vector<std::int64_t> heads = {};   ///< of each layer; empty: all
  std::int64_t cells = 256;               ///< of a picture, on each side, at most
  std::int64_t top = 8;                   ///< keys to list for each row
  /// Where given, calls are kept there by the number of their part, and nothing is drawn: heads have no pictures.
  std::shared_ptr<KeptAttention> kept = nullptr;
  /// What the products of view_text() are computed in: float32 or bfloat16. Models of tasks say their own.
  std::string products = "float32";
};

/// Tokens of a text as a reader sees them.
struct ViewedText {
  std::vector<std::string> tokens = {};
  std::string separator = " ";  ///< between tokens: nothing where they are bytes
};

/// A head's picture, cut to the tokens of the texts.
struct ViewedHead {
  std::int64_t number = 0;
  attention::HeadPicture picture;
};

/// The attention of one layer: to its own text, or to another one.
struct ViewedPart {
  std::string name;          ///< "decoder.layers.3.cross"
  std::string expression;    ///< what was computed
  std::string reason;        ///< why there is nothing to see; empty where there is
  bool from_target = false;  ///< queries are the tokens of the target, else of the source
  bool to_target = false;    ///< the same of the keys
  std::int64_t all_heads = 0;
  std::int64_t cell = 1;
  std::vector<ViewedHead> heads = {};
};

/// A text, and what the model does with it. A decoder or an encoder has a source alone.
struct AttentionView {
  ViewedText source;
  ViewedText target;
  std::vector<ViewedPart> parts;
};

/// Watches one pass of `model` over one text, and draws its heads.
class AttentionViewer final : public attention::AttentionObserver {
 public:
  /// `model` must outlive this. Errors: kArgument for a layer or a head that it does not have.
  AttentionViewer(const torch::nn::Module& model, const ViewOptions& options);

  /// Errors: those of PictureOfHead, with the name of the part.
  void observe(const attention::ObservedCall& seen) override;

  /// The parts that were drawn, cut to so many tokens.
  std::vector<ViewedPart> finished(std::int64_t source, std::int64_t target) const;

 private:
  struct Drawn {
    ViewedPart part;
    std::vector<std::int64_t> heads;
    std::vector<attention::PictureOfHead> pictures = {};  // of those heads, once a call was seen
    bool seen = false;                                    // a call was kept
  };

  ViewOptions options_;
  std::vector<Drawn> drawn_;
  std::map<const attention::MechanismSite*, std::size_t> drawn_of_;
};

}  // namespace weft::tasks
