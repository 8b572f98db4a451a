// SPDX-License-Identifier: Apache-2.0
// The vocabulary of words that torch.save wrote for Transformer-XL (vocab.pkl, vocab.bin), read as data: OrderedDict
// and Counter are recognised, and nothing is called.
#pragma once

#include <string>
#include <vector>

#include "weft/core/disk/model_file.h"

namespace weft::formats {

/// The list `idx2sym` of the pickled dict: words in the order of their ids. Errors: kIo; kFormat naming the file for
/// what is neither form of torch.save, names beyond the allow-list, and a dict without such a list of different words.
std::vector<std::string> read_pickled_words(const FilePlace& file);

}  // namespace weft::formats
