// SPDX-License-Identifier: Apache-2.0
// Event protobufs written by hand: five fields need no protobuf library, whose version would then be everybody's
// business.
#include "weft/formats/event_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "weft/core/error.h"

namespace weft::formats {
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kBuffered = 1 << 16;

// CRC-32C with the reflected polynomial 0x82F63B78, a byte at a time.
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78U : 0U);
    }
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

template <typename Value>
void append_raw(std::string& text, Value value) {
  static_assert(std::endian::native == std::endian::little);
  std::array<char, sizeof(Value)> bytes{};
  std::memcpy(bytes.data(), &value, sizeof(Value));
  text.append(bytes.data(), bytes.size());
}

// Protobuf's varint: seven bits a byte, lowest first, the high bit on all but the last.
void append_varint(std::string& text, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    text += static_cast<char>(value | 0x80);
  }
  text += static_cast<char>(value);
}

// A field of wire type 2: its number, the length, the bytes.
void append_bytes(std::string& text, int field, std::string_view bytes) {
  append_varint(text, static_cast<std::uint64_t>(field) << 3 | 2);
  append_varint(text, bytes.size());
  text += bytes;
}

// Event { double wall_time = 1; int64 step = 2; } from tensorflow/core/util/event.proto, to which a `what` is added.
std::string event(double wall_time, std::int64_t step) {
  // 0x09 is field 1 as 64 fixed bits, 0x10 field 2 as a varint.
  std::string text(1, '\x09');
  append_raw(text, wall_time);
  text += '\x10';
  append_varint(text, static_cast<std::uint64_t>(step));
  return text;
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// The time in the name of an event file, or 0.
long long time_of(const std::filesystem::path& path) {
  const std::string name = path.filename().native();
  return name.starts_with(kPrefix) ? std::strtoll(name.c_str() + kPrefix.size(), nullptr, 10) : 0;
}

// A name that sorts behind those of all event files in `directory`, even when the clock went back: TensorBoard reads
// them in that order.
std::filesystem::path next_name(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  std::filesystem::directory_iterator entries(directory, error);
  if (error) {
    fail_io("write", directory, error.value());
  }
  auto time = static_cast<long long>(now());
  for (const auto& entry : entries) {
    time = std::max(time, time_of(entry.path()) + 1);
  }
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%010lld", time);
  return directory / concat(kPrefix, digits.data(), ".", host.data(), ".weft");
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) noexcept {
  std::uint32_t value = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    value = kTable[(value ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (value >> 8);
  }
  return ~value;
}

std::uint32_t masked_crc32c(std::string_view bytes) noexcept {
  // TFRecord's mask, because a CRC over bytes that hold their own CRC is weak.
  const std::uint32_t value = crc32c(bytes);
  return std::rotr(value, 15) + 0xA282EAD8U;
}

EventWriter::EventWriter(const std::filesystem::path& directory, std::int64_t first_step)
    : file_(next_name(directory), O_WRONLY | O_CREAT | O_EXCL | O_APPEND) {
  std::string version = event(now(), 0);
  append_bytes(version, 3, "brain.Event:2");
  record(version);
  if (first_step > 0) {
    std::string start = event(now(), first_step);
    append_bytes(start, 7, std::string_view("\x08\x01", 2));  // SessionLog { status = START }
    record(start);
  }
  flush();
}

EventWriter::~EventWriter() {
  try {
    flush();
  } catch (const Error&) {
    pending_.clear();
  }
}

void EventWriter::scalar(std::string_view tag, double value, std::int64_t step, double wall_time) {
  std::string summary_value;  // Summary.Value { string tag = 1; float simple_value = 2; }
  append_bytes(summary_value, 1, tag);
  summary_value += '\x15';
  append_raw(summary_value, static_cast<float>(value));
  std::string summary;
  append_bytes(summary, 1, summary_value);
  std::string text = event(wall_time, step);
  append_bytes(text, 5, summary);
  record(text);
}

void EventWriter::record(std::string_view event) {
  // A record: 8 bytes of length, the CRC of these, the event, the CRC of that.
  std::string length;
  append_raw(length, static_cast<std::uint64_t>(event.size()));
  pending_ += length;
  append_raw(pending_, masked_crc32c(length));
  pending_ += event;
  append_raw(pending_, masked_crc32c(event));
  if (pending_.size() >= kBuffered) {
    flush();
  }
}

void EventWriter::flush() {
  if (pending_.empty()) {
    return;
  }
  // A torn record would hide all later ones from readers, so that a failed write is taken back whole.
  const std::uint64_t before = file_.size();
  try {
    file_.write_all(pending_.data(), pending_.size());
  } catch (const Error&) {
    file_.truncate(before);
    throw;
  }
  pending_.clear();
}

}  // namespace weft::formats
