// SPDX-License-Identifier: Apache-2.0
// Draws are by (seed, sequence, cut, number of the draw): no state but the place in the sequence.
#include "weft/readers/genome_documents.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft::readers {
namespace {

// "genome" in ASCII.
constexpr std::uint64_t kGenomeStream = 0x67656E6F6D65;

class Draws {
 public:
  Draws(std::uint64_t seed, std::int64_t number, std::int64_t copy)
      : key_(random_bits(seed ^ kGenomeStream, static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(copy))) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(
                     random_below(random_bits(key_, next_++), static_cast<std::uint64_t>(high - low) + 1));
  }

 private:
  std::uint64_t key_;
  std::uint64_t next_ = 0;
};

bool is_gap(std::string_view sentence) {
  const auto unknown = std::ranges::count_if(sentence, [](char base) { return base == 'N' || base == 'n'; });
  return 2 * unknown > std::ssize(sentence);
}

char upper(char base) { return base >= 'a' && base <= 'z' ? static_cast<char>(base - 'a' + 'A') : base; }

}  // namespace

std::int64_t cut_genome(std::string_view sequence, std::int64_t number, const GenomeDocumentOptions& options,
                        const std::function<void(const std::string& document)>& visit) {
  require(options.shortest_sentence >= 1 && options.longest_sentence >= options.shortest_sentence &&
              options.fewest_sentences >= 1 && options.most_sentences >= options.fewest_sentences,
          "documents need sentences of at least 1 base and ranges from low to high, found ", options.shortest_sentence,
          " to ", options.longest_sentence, " bases and ", options.fewest_sentences, " to ", options.most_sentences,
          " sentences");
  std::int64_t left_out = 0;
  for (std::int64_t copy = 0; copy < options.copies; ++copy) {
    Draws draws(options.seed, number, copy);
    std::string_view rest = sequence;
    while (!rest.empty()) {
      std::string document;
      for (std::int64_t left = draws.between(options.fewest_sentences, options.most_sentences);
           left > 0 && !rest.empty(); --left) {
        const auto length =
            static_cast<std::size_t>(draws.between(options.shortest_sentence, options.longest_sentence));
        const std::string_view sentence = rest.substr(0, length);
        if (is_gap(sentence)) {
          left_out += std::ssize(sentence);
        } else {
          std::transform(sentence.begin(), sentence.end(), std::back_inserter(document), upper);
          document += '\n';
        }
        rest.remove_prefix(sentence.size());
      }
      if (!document.empty()) {
        visit(document);
      }
    }
  }
  return left_out;
}

}  // namespace weft::readers
