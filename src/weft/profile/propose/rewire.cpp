// SPDX-License-Identifier: Apache-2.0
// Reach follows the content of 256 positions through the layers of a stack. Graphs of layers are kept, since one try
// differs from the next in few of them.
#include "weft/profile/propose/rewire.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/system/option_name.h"
#include "weft/inspect/graph/statistics.h"
#include "weft/pattern/pattern.h"
#include "weft/profile/prune/prune_file.h"

namespace weft::profile {
namespace {

constexpr std::int64_t kFollowed = 256;
constexpr int kMostKeys = 64;
constexpr double kEnough = 0.999;

// A way to add edges to a head.
enum class Added { kKeys, kGlobal, kRandom, kAllThatItHad };

std::string term_of(Added kind, int count) {
  switch (kind) {
    case Added::kKeys:
      return concat("global(", count, ", side=keys)");
    case Added::kGlobal:
      return concat("global(", count, ")");
    case Added::kRandom:
      return concat("random(", count, ", seed=layer)");
    default:
      return kWholeHead;
  }
}

std::vector<std::string> expressions_of(const LayerProposal& layer) {
  std::vector<std::string> heads;
  heads.reserve(layer.heads.size());
  for (const HeadProposal& head : layer.heads) {
    heads.push_back(head.expression);
  }
  return heads;
}

// With the term in its cheapest head that lacks edges; as it is where no head does.
LayerProposal with_term(LayerProposal layer, const std::string& term) {
  HeadProposal* cheapest = nullptr;
  for (HeadProposal& head : layer.heads) {
    if (!head.is_whole() && (cheapest == nullptr || head.cost < cheapest->cost)) {
      cheapest = &head;
    }
  }
  if (cheapest == nullptr) {
    return layer;
  }
  if (term == kWholeHead) {
    *cheapest = HeadProposal();
  } else {
    cheapest->expression += " | " + term;
  }
  layer.rewired = term;
  layer.expression = layer.base->joined(expressions_of(layer));
  return layer;
}

// The layers of one stack, and what is tried with them.
class Stack {
 public:
  Stack(std::vector<LayerProposal> layers, double gap) : plain_(std::move(layers)), gap_(gap), length_(length()) {
    require(length_ <= kLongestWired, "propose: ", option("rewire"), " measures up to ", kLongestWired,
            " tokens, found ", length_, "; give a shorter ", option("length"));
    std::vector<std::string> had;
    had.reserve(plain_.size());
    for (const LayerProposal& layer : plain_) {
      had.push_back(layer.base->pattern().to_string());
    }
    before_ = reach(had);
    graphs_.clear();  // dense ones are large
    words_ = 0;
  }

  Connection connection() {
    const double reached = reach(expressions(plain_));
    return {before_ > 0 ? reached / before_ : 1, least_gap(expressions(plain_))};
  }

  /// The layers with the fewest edges more that are enough; nothing where no term is.
  std::optional<std::vector<LayerProposal>> rewired() {
    if (is_enough(plain_)) {
      return plain_;
    }
    std::optional<std::vector<LayerProposal>> best;
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (const Added kind : {Added::kKeys, Added::kGlobal, Added::kRandom, Added::kAllThatItHad}) {
      const int count = smallest_count(kind);
      if (count == 0) {
        continue;
      }
      std::vector<LayerProposal> tried = without_spare_layers(with(kind, count));
      if (const std::int64_t edges = added_edges(tried); edges < fewest) {
        fewest = edges;
        best = std::move(tried);
      }
    }
    return best;
  }

 private:
  std::int64_t length() const { return plain_.front().base->site().query_length; }

  static std::vector<std::string> expressions(const std::vector<LayerProposal>& layers) {
    std::vector<std::string> all;
    all.reserve(layers.size());
    for (const LayerProposal& layer : layers) {
      all.push_back(layer.expression);
    }
    return all;
  }

  std::vector<LayerProposal> with(Added kind, int count) const {
    std::vector<LayerProposal> layers;
    layers.reserve(plain_.size());
    for (const LayerProposal& layer : plain_) {
      layers.push_back(with_term(layer, term_of(kind, count)));
    }
    return layers;
  }

  // 0 where none is enough in all layers.
  int smallest_count(Added kind) {
    int high = 1;
    while (!is_enough(with(kind, high))) {
      high *= 2;
      if (high > kMostKeys || kind == Added::kAllThatItHad) {
        return 0;
      }
    }
    int low = high / 2;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (is_enough(with(kind, middle)) ? high : low) = middle;
    }
    return high;
  }

  std::vector<LayerProposal> without_spare_layers(std::vector<LayerProposal> layers) {
    for (std::size_t layer = layers.size(); layer-- > 0;) {
      LayerProposal rewired = std::exchange(layers[layer], plain_[layer]);
      if (!is_enough(layers)) {
        layers[layer] = std::move(rewired);
      }
    }
    return layers;
  }

  std::int64_t added_edges(const std::vector<LayerProposal>& layers) const {
    const auto edges = [](const LayerProposal& layer) {
      const auto pattern = layer.base->parsed(layer.expression);
      return pattern::compile(pattern, layer.base->site(), {64, 64}).edges();
    };
    std::int64_t added = 0;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      added += layers[layer].expression == plain_[layer].expression ? 0 : edges(layers[layer]) - edges(plain_[layer]);
    }
    return added;
  }

  bool is_enough(const std::vector<LayerProposal>& layers) {
    const std::vector<std::string> tried = expressions(layers);
    return reach(tried) >= kEnough * before_ && least_gap(tried) >= gap_;
  }

  const inspect::WordRows& graph(std::size_t layer, const std::string& expression) {
    const std::string name = concat(layer, " ", expression);
    const auto known = graphs_.find(name);
    if (known != graphs_.end()) {
      return known->second;
    }
    constexpr std::int64_t kMostKept = inspect::kMaximumWords;  // some 200 MB
    if (words_ > kMostKept) {
      graphs_.clear();
      words_ = 0;
    }
    const LayerBase& base = *plain_[layer].base;
    inspect::WordRows& rows = graphs_[name] = inspect::pattern_graph(base.parsed(expression), base.site());
    words_ += rows.words();
    return rows;
  }

  // Positions that one hears of through all layers, on average.
  double reach(const std::vector<std::string>& layers) {
    inspect::Reach reach(length_, inspect::sample_positions(length_, std::min(length_, kFollowed)));
    double reached = 0;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      reached = reach.pass(graph(layer, layers[layer])).value;
    }
    return reached;
  }

  double least_gap(const std::vector<std::string>& layers) {
    double least = 1;
    for (std::size_t layer = 0; gap_ > 0 && layer < layers.size(); ++layer) {
      const std::string name = concat(layer, " ", layers[layer]);
      auto known = gaps_.find(name);
      if (known == gaps_.end()) {
        const auto second = inspect::second_eigenvalue(inspect::symmetrised(graph(layer, layers[layer])));
        known = gaps_.emplace(name, second ? 1 - second->value : 0).first;
      }
      least = std::min(least, known->second);
    }
    return least;
  }

  std::vector<LayerProposal> plain_;
  double gap_;
  std::int64_t length_;
  double before_ = 0;                                // positions that one heard of through the profiled layers
  std::map<std::string, inspect::WordRows> graphs_;  // by layer and expression
  std::int64_t words_ = 0;                           // of all of them
  std::map<std::string, double> gaps_;
};

// Numbers of the layers of each stack of self-attention.
std::map<std::string, std::vector<std::size_t>> stacks_of(const std::vector<LayerProposal>& layers) {
  std::map<std::string, std::vector<std::size_t>> stacks;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    if (!layers[layer].part->site.cross) {
      stacks[list_of(layers[layer].part->site)].push_back(layer);
    }
  }
  return stacks;
}

Stack stack_at(const std::vector<LayerProposal>& layers, const std::vector<std::size_t>& numbers, double gap) {
  std::vector<LayerProposal> chosen;
  chosen.reserve(numbers.size());
  for (const std::size_t number : numbers) {
    chosen.push_back(layers[number]);
  }
  return {std::move(chosen), gap};
}

}  // namespace

Connection connection(const std::vector<LayerProposal>& layers, const ProposeSettings& settings) {
  Connection least{1, 1};
  for (const auto& [name, numbers] : stacks_of(layers)) {
    const Connection found = stack_at(layers, numbers, settings.gap).connection();
    least = {std::min(least.reach, found.reach), std::min(least.gap, found.gap)};
  }
  return least;
}

void rewire(std::vector<LayerProposal>& layers, const ProposeSettings& settings) {
  for (const auto& [name, numbers] : stacks_of(layers)) {
    auto rewired = stack_at(layers, numbers, settings.gap).rewired();
    require(
        rewired.has_value(), "propose: no ", kMostKeys, " global or random keys restore what the patterns connected",
        [&] { return settings.gap > 0 ? concat(", with a gap of ", settings.gap) : ""; }, "; ask for a smaller ",
        option("gap"), ", or for more ", option("mass"));
    for (std::size_t layer = 0; layer < numbers.size(); ++layer) {
      LayerProposal& found = layers[numbers[layer]];
      found = std::move((*rewired)[layer]);
      join_heads(found);
    }
  }
}

}  // namespace weft::profile
