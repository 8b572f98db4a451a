// SPDX-License-Identifier: Apache-2.0
// Sequences as documents for masked language modelling, as BigBird's figure 7 has them (Zaheer et al. 2020, appendix
// F): a sequence is cut at random places into sentences of 500 to 1,000 bases and documents of 50 to 100 sentences, and
// that several times over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft::readers {

/// The paper's numbers; both ends of a range belong to it.
struct GenomeDocumentOptions {
  std::int64_t shortest_sentence = 500;  ///< bases
  std::int64_t longest_sentence = 1000;
  std::int64_t fewest_sentences = 50;  ///< a document
  std::int64_t most_sentences = 100;
  std::int64_t copies = 10;  ///< cuts of a sequence
  std::uint64_t seed = 0;
};

/// Gives every document of `sequence`, the number-th of its file, to `visit`: a sentence a line, in upper case. A cut
/// covers the sequence once; its first and last documents, and the last sentence, may be short. A sentence with more N
/// than other letters lies in a gap of the assembly: it is left out, and nobody learns to restore N. Returns how many
/// letters that leaves out, over all cuts. A pure function of seed, number and cut. Errors: kArgument for an empty
/// range.
std::int64_t cut_genome(std::string_view sequence, std::int64_t number, const GenomeDocumentOptions& options,
                        const std::function<void(const std::string& document)>& visit);

}  // namespace weft::readers
