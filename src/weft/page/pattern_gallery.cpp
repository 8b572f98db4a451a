// SPDX-License-Identifier: Apache-2.0
// The table of the gallery.
#include "weft/page/pattern_gallery.h"

namespace weft::page {
namespace {

constexpr GalleryPattern kGallery[] = {
    {"Full attention", "Every token looks at every other (Vaswani et al. 2017).", "full", 512},
    {"Causal attention", "Every token looks at itself and at those before it, as decoders do.", "causal", 512},
    {"Sliding window", "Each token looks at its neighbours; layers carry news further.", "window(64)", 1024},
    {"Causal window", "A decoder that remembers the last 128 tokens in every layer.", "causal & window(left=127)",
     1024},
    {"Dilated window", "Every fourth neighbour: four times as far at the same cost.", "window(64, dilation=4)", 1024},
    {"Longformer", "A window, and chosen tokens that see all and that all see (Beltagy et al. 2020).",
     "longformer(128)", 1024, 1, "0,1"},
    {"BigBird", "Window, global and random blocks, as released (Zaheer et al. 2020).", "bigbird", 2048, 12},
    {"ETC", "Global tokens before the text, and a window (Ainslie et al. 2020).", "etc(global=32, window=128)", 1024},
    {"Star", "A ring and one token in the middle of everything (Guo et al. 2019).", "star", 256},
    {"Sparse Transformer, strided", "A window and every 32nd token before it (Child et al. 2019).", "strided(32)",
     1024},
    {"Sparse Transformer, fixed", "Segments and the summaries at their ends (Child et al. 2019).", "fixed(32, 4)",
     1024},
    {"Heads that differ", "One head looks near, the other takes strides.", "strided(32, split=true)", 1024, 2},
    {"Rows and columns", "Pixels of a picture of 32 x 32 look along their row and column (Ho et al. 2019).",
     "axial(32, 32)", 1024},
    {"Small world", "A ring of which every tenth edge leads anywhere (Watts and Strogatz 1998).",
     "watts_strogatz(16, 0.1)", 512},
    {"Random graph", "Each edge with a probability of 2% (Erdos and Renyi 1959).", "erdos_renyi(0.02)", 512},
    {"Window and random keys", "Neighbours, and three keys from anywhere.", "window(33) | random(3)", 512},
};

}  // namespace

std::span<const GalleryPattern> pattern_gallery() { return kGallery; }

}  // namespace weft::page
