// SPDX-License-Identifier: Apache-2.0
// What a model can be asked to do, whatever it is made of. Who uses a model asks for one of these, and not which family
// or kind of model it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::checkpoint {

/// A model has one or more of them: a Reformer for masked tokens reads and predicts.
enum class Ability : std::uint8_t {
  kRead,      ///< reads a text from both sides, for states, vectors and what its head answers: load_encoder()
  kWrite,     ///< reads a source and writes a target: load_encoder_decoder()
  kPredict,   ///< predicts tokens of a text, the next ones or masked ones: load_model()
  kContinue,  ///< goes on with a text, token by token: load_model()
  kDraw,      ///< predicts the bytes of a picture, and goes on with one: load_model()
};

/// One way to do a thing, for models of one ability.
template <typename Function>
struct Way {
  Ability needs;
  Function take;
};

/// The first of `ways` that `model` (an OpenedModel) can go. Errors: those of need() of the last one; of a model of
/// pictures, where no way is for pictures, that it is one.
template <typename Model, typename Function, std::size_t kCount>
const Way<Function>& first_way(const Model& model, const std::array<Way<Function>, kCount>& ways) {
  static_assert(kCount > 0);
  for (const Way<Function>& way : ways) {
    if (model.can(way.needs)) {
      return way;
    }
  }
  model.need(model.can(Ability::kDraw) ? Ability::kPredict : ways.back().needs);
  return ways.back();
}

/// What it does there. Errors: the same.
template <typename Model, typename Function, std::size_t kCount>
const Function& way_of(const Model& model, const std::array<Way<Function>, kCount>& ways) {
  return first_way(model, ways).take;
}

}  // namespace weft::checkpoint
