// SPDX-License-Identifier: Apache-2.0
// A model says so by the state that it begins with.
#include "weft/generation/whole_texts.h"

#include "weft/attention/state/whole_text.h"

namespace weft::generation {

bool computes_whole_texts(const models::LanguageModel& model) {
  layers::DecodingState state = model->initial_state();
  return attention::is_whole_text(state.layer(0));
}

}  // namespace weft::generation
