// SPDX-License-Identifier: Apache-2.0
// Samples of sound as one byte each: mu-law with mu = 255 in 256 even steps, as WaveNet has it (van den Oord et al.
// 2016, section 2.2). Loud samples lose more than soft ones. G.711's bytes have the same curve in another order.
#pragma once

namespace weft::readers {

/// f(x) = sign(x) ln(1 + 255 |x|) / ln(256); the byte is floor((f(x) + 1) / 2 * 255 + 0.5). `sample` is -1 to 1, and
/// is cut to that; silence is 128.
unsigned char mu_law(double sample);

/// The sample in the middle of a byte's step: the inverse of f.
double mu_law_sample(unsigned char byte);

}  // namespace weft::readers
