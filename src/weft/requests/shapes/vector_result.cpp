// SPDX-License-Identifier: Apache-2.0
// A vector is kept as bytes: as a list of JSON's numbers it would take four times as much, and lose nothing but time.
#include "weft/requests/shapes/vector_result.h"

#include <bit>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/formats/packed_text.h"

namespace weft::requests {
namespace {

using formats::Json;

static_assert(std::endian::native == std::endian::little, "vectors are sent as they lie in memory");

std::int64_t count_in(const Json& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found != metadata.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::string_view bytes_of_vector(const Json& result) {
  const Json::binary_t& bytes = plain_result(result).get_binary();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::int64_t sum_of(std::span<const Json> results, const char* key) {
  std::int64_t sum = 0;
  for (const Json& result : results) {
    sum += count_in(result, key);
  }
  return sum;
}

}  // namespace

Json counted_result(Json result, const Json& metadata) {
  return {{"result", std::move(result)},
          {"tokens", count_in(metadata, "tokens")},
          {"truncated", count_in(metadata, "truncated")}};
}

const Json& plain_result(const Json& counted) { return counted.at("result"); }

Json vector_result(std::span<const float> vector, const Json& metadata) {
  std::vector<std::uint8_t> bytes(vector.size_bytes());
  if (!vector.empty()) {
    std::memcpy(bytes.data(), vector.data(), bytes.size());
  }
  return counted_result(Json::binary(std::move(bytes)), metadata);
}

Json vector_numbers(const Json& result) {
  const std::string_view bytes = bytes_of_vector(result);
  Json numbers = Json::array();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    float number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof(float));
    numbers.push_back(static_cast<double>(number));
  }
  return numbers;
}

std::string vector_base64(const Json& result) { return formats::base64(bytes_of_vector(result)); }

std::int64_t tokens_read(std::span<const Json> results) {
  return sum_of(results, "tokens") - sum_of(results, "truncated");
}

server::Fields token_fields(std::span<const Json> results) {
  server::Fields fields;
  fields.emplace_back("X-Compute-Tokens", std::to_string(tokens_read(results)));
  if (const std::int64_t cut = sum_of(results, "truncated"); cut > 0) {
    fields.emplace_back("X-Truncated-Tokens", std::to_string(cut));
  }
  return fields;
}

}  // namespace weft::requests
