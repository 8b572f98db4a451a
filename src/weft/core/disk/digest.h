// SPDX-License-Identifier: Apache-2.0
// Digests of files: 128 bits of XXH3 that tell two contents apart. They find accidents (flipped bits, a file of another
// step) and are no protection against somebody who changes a file on purpose.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/disk/model_file.h"

namespace weft {

/// The digest of `bytes`: "xxh3-128:" and 32 hexadecimal digits.
std::string digest_of(std::string_view bytes);

/// The digest of a regular file's content, read in pieces of 1 MiB. Errors: kIo, also where the file shrinks meanwhile.
std::string digest_of_file(const FilePlace& place);

}  // namespace weft
