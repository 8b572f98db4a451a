// SPDX-License-Identifier: Apache-2.0
// What a user of the installed library writes: parse a pattern, lay it out, run attention over it; then what the
// documents print. Compiled by a second project.
#include <torch/types.h>

#include "weft/attention/attention.h"
#include "weft/pattern/pattern.h"

void run_torch_snippets();

int main() {
  const auto pattern = weft::pattern::Pattern::parse("causal & window(16)");
  weft::pattern::Site site;
  site.query_length = site.key_length = 100;
  site.heads = 2;
  const auto layout = weft::attention::cached_layout(pattern, site, weft::pattern::Tile{});

  const auto query = torch::randn({1, 2, 100, 8});
  const auto result = weft::attention::attention(query, query, query, layout);
  run_torch_snippets();
  return result.output.isfinite().all().item<bool>() ? 0 : 1;
}
