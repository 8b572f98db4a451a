// SPDX-License-Identifier: Apache-2.0
// The other strand of DNA: the same molecule, read from its other end.
#pragma once

#include <string>
#include <string_view>

namespace weft::readers {

/// The letters from the last to the first, each as the base that stands opposite to it: A and T, C and G; of IUPAC's
/// letters for several bases R and Y, K and M, B and V, D and H, while S, W and N are their own. Upper and lower case
/// stay, as do '-' and blanks, so that words of bases ("ACG CGT") become the words of the other strand. Errors:
/// MalformedRecord naming `place` and the first other character.
std::string reverse_complement(std::string_view sequence, const std::string& place);

}  // namespace weft::readers
