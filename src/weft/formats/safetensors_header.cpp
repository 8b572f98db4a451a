// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file, read event by event so that a hostile one costs no more memory than its own length
// asks for, and checked against every rule of the format.
#include <algorithm>
#include <array>
#include <bitset>
#include <limits>
#include <utility>

#include "weft/core/quote.h"
#include "weft/formats/json_events.h"
#include "weft/formats/safetensors.h"

namespace weft::formats {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};

// Knows only where in the header it stands. At each event it either takes what the format has there or rejects it, so
// that no document is ever built.
class HeaderReader : public JsonEvents {
 public:
  explicit HeaderReader(std::uint64_t data_bytes) : data_bytes_(data_bytes) {}
  SafetensorsHeader take() { return std::move(header_); }

  // `"__metadata__": null` says that there is none.
  bool null() override { return (place_ == Place::kTop && tensor_.name == kMetadataKey) || unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool number_integer(number_integer_t value) override { return unexpected(concat("the negative number ", value)); }
  bool number_float(number_float_t, const string_t& text) override { return unexpected("the number " + quote(text)); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::kShape) {
      return add_dimension(value);
    }
    if (place_ == Place::kOffsets && offset_count_ < 2) {
      (offset_count_++ == 0 ? tensor_.begin : tensor_.end) = value;
      return true;
    }
    return unexpected(concat("the number ", value));
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      header_.metadata[key_] = std::move(value);
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") {
      return unexpected("the string " + quote(value));
    }
    const std::optional<Dtype> dtype = find_dtype(value);
    if (!dtype) {
      reject_tensor("the dtype ", quote(value), " is unknown; there are ", dtype_names());
    }
    tensor_.dtype = *dtype;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      place_ = tensor_.name == kMetadataKey ? Place::kMetadata : Place::kTensor;
      fields_.reset();
      offset_count_ = 0;
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") {
      return unexpected("a list");
    }
    place_ = key_ == "shape" ? Place::kShape : Place::kOffsets;
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      finish_tensor();
    }
    place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
    return true;
  }

  bool key(string_t& value) override {
    if (place_ == Place::kTop) {
      if (value == kMetadataKey && std::exchange(has_metadata_, true)) {
        reject("the name ", quote(value), " appears twice");
      }
      tensor_ = {};
      tensor_.name = std::move(value);
      return true;
    }
    if (is_repeated(value)) {
      reject(quote(tensor_.name), ": the field ", quote(value), " appears twice");
    }
    key_ = std::move(value);
    return true;
  }

  /// Checks that each name is one tensor's. By sorting: names may be chosen so that they fall into one bucket of a
  /// hash.
  void check_names() const {
    std::vector<std::string_view> names;
    names.reserve(header_.tensors.size());
    for (const TensorInfo& tensor : header_.tensors) {
      names.emplace_back(tensor.name);
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) {
      fail(ErrorKind::kFormat, where(), ": the name ", quote(*twice), " appears twice");
    }
  }

  /// Sorts the tensors by their data and checks that they cover it.
  void check_cover() {
    const auto before = [](const TensorInfo& left, const TensorInfo& right) {
      return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
    };
    if (!std::is_sorted(header_.tensors.begin(), header_.tensors.end(), before)) {
      std::sort(header_.tensors.begin(), header_.tensors.end(), before);
    }
    std::uint64_t covered = 0;
    for (const TensorInfo& tensor : header_.tensors) {
      if (tensor.begin != covered) {
        fail(ErrorKind::kFormat, where(), ": tensor ", quote(tensor.name), ": its data begins at ", tensor.begin,
             tensor.begin < covered ? " and overlaps what ends at " : " and leaves a hole behind what ends at ",
             covered);
      }
      covered = tensor.end;
    }
    if (covered != data_bytes_) {
      fail(ErrorKind::kFormat, where(), ": ", data_bytes_ - covered, " bytes at the end belong to no tensor");
    }
  }

 private:
  enum class Place { kOutside, kTop, kMetadata, kTensor, kShape, kOffsets };

  template <typename... Parts>
  [[noreturn]] void reject_tensor(const Parts&... parts) const {
    reject("tensor ", quote(tensor_.name), ": ", parts...);
  }

  [[noreturn]] bool unexpected(std::string_view found) const {
    switch (place_) {
      case Place::kMetadata:
        reject("__metadata__: ", quote(key_), " must be a string, found ", found);
      case Place::kTensor:
        reject_tensor(quote(key_), " must be ", key_ == "dtype" ? "a string" : "a list", ", found ", found);
      case Place::kShape:
        reject_tensor("the shape must be integers of at least 0, found ", found);
      case Place::kOffsets:
        reject_tensor("data_offsets must be two integers of at least 0, found ", found);
      default:
        reject(quote(tensor_.name), " must be an object, found ", found);
    }
  }

  // Whether the object being read has had the field; notes that it has it now.
  bool is_repeated(const std::string& field) {
    if (place_ == Place::kMetadata) {
      return header_.metadata.contains(field);
    }
    const auto* known = std::find(kFields.begin(), kFields.end(), field);
    if (known == kFields.end()) {
      reject_tensor("there is no field ", quote(field), "; there are dtype, shape and data_offsets");
    }
    const auto number = static_cast<std::size_t>(known - kFields.begin());
    const bool repeated = fields_.test(number);
    fields_.set(number);
    return repeated;
  }

  bool add_dimension(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      reject_tensor("the dimension ", value, " does not fit 63 bits");
    }
    if (tensor_.shape.size() == kMaximumDimensions) {
      reject_tensor("the shape has more than ", kMaximumDimensions, " dimensions");
    }
    tensor_.shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  // Everything about one tensor that does not depend on the others.
  void finish_tensor() {
    for (std::size_t field = 0; field < kFields.size(); ++field) {
      if (!fields_.test(field)) {
        reject_tensor("the field '", kFields.at(field), "' is missing");
      }
    }
    if (offset_count_ != 2) {
      reject_tensor("data_offsets must be two integers, found ", offset_count_);
    }
    if (tensor_.begin > tensor_.end || tensor_.end > data_bytes_) {
      reject_tensor("data_offsets [", tensor_.begin, ", ", tensor_.end, "] must rise and end within the ", data_bytes_,
                    " bytes of data");
    }
    std::uint64_t size = dtype_size(tensor_.dtype);
    // Wrapped around, the size of a huge shape could pass for a small one.
    for (const std::int64_t dimension : tensor_.shape) {
      if (__builtin_mul_overflow(size, static_cast<std::uint64_t>(dimension), &size)) {
        reject_tensor("the size of its shape overflows 64 bits");
      }
    }
    if (size != tensor_.end - tensor_.begin) {
      reject_tensor("shape and dtype ask for ", size, " bytes, data_offsets for ", tensor_.end - tensor_.begin);
    }
    header_.tensors.push_back(std::move(tensor_));
  }

  std::uint64_t data_bytes_;
  SafetensorsHeader header_;
  bool has_metadata_ = false;
  Place place_ = Place::kOutside;
  TensorInfo tensor_;                   // the one being read; its name is also that of `__metadata__`
  std::string key_;                     // the field being read
  std::bitset<kFields.size()> fields_;  // of this tensor, so far
  int offset_count_ = 0;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes, std::string_view where) {
  if (!text.starts_with('{')) {
    fail(ErrorKind::kFormat, where, ": not a safetensors file: the header must start with '{'");
  }
  HeaderReader reader(data_bytes);
  reader.parse(text, where);
  reader.check_names();
  reader.check_cover();
  return reader.take();
}

}  // namespace weft::formats
