// SPDX-License-Identifier: Apache-2.0
// Where the Hub and its cache are, who asks, and whether anybody may be asked at all: the environment variables of
// huggingface_hub, with their order and their defaults.
#pragma once

#include <filesystem>
#include <string>

namespace weft::hub {

/// What the environment says.
struct HubSettings {
  std::filesystem::path cache;                      ///< HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub, ...
  std::string endpoint = "https://huggingface.co";  ///< HF_ENDPOINT, without a slash at its end
  bool offline = false;                             ///< HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE
  long answer_seconds = 10;                         ///< HF_HUB_ETAG_TIMEOUT: for a listing
  long stall_seconds = 10;                          ///< HF_HUB_DOWNLOAD_TIMEOUT: for the next bytes of a file
  double listing_seconds = 300;                     ///< WEFT_HUB_LISTING_SECONDS: for a whole listing, attempts too
  double retry_seconds = 1;                         ///< WEFT_HUB_RETRY_SECONDS: before the second attempt, then doubled
};

/// Errors: kArgument naming the variable whose value cannot be meant.
HubSettings settings_of_environment();

/// HF_TOKEN, HUGGING_FACE_HUB_TOKEN, else the file of a login; may be empty. Who makes no request need not ask, and is
/// not stopped by a file of somebody else's. Errors: kArgument, where it is no word; kIo, where the file cannot be
/// read. No message contains a token.
std::string token_of_environment();

}  // namespace weft::hub
