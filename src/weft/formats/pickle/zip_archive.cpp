// SPDX-License-Identifier: Apache-2.0
// ZIP by PKWARE's APPNOTE 6.3, read from its end: end record, ZIP64 end record, central directory, and the local header
// of every member, without which the place of its data is not known.
#include "weft/formats/pickle/zip_archive.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <zlib.h>

#include "weft/core/error.h"
#include "weft/core/quote.h"

namespace weft::formats {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kLocator64 = 0x07064b50;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocator64Bytes = 20;
// In a field of 32 bits: the value is in the ZIP64 extra field.
constexpr std::uint32_t kSee64 = 0xFFFFFFFF;
constexpr std::uint64_t kLargestDirectory = std::uint64_t{64} << 20;
constexpr std::uint16_t kExtra64 = 1;
constexpr unsigned kEncrypted = 1;

template <typename Integer>
Integer get(std::string_view bytes, std::size_t offset) {
  Integer value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// Reads by pread, never through the map: the file may be cut while it is read.
class DirectoryReader {
 public:
  DirectoryReader(const MappedFile& file, std::string_view where)
      : file_(file), where_(where), size_(file.bytes().size()) {}

  std::unordered_map<std::string, ZipMember> read() {
    find_end();
    std::string_view rest = directory_;
    for (std::uint64_t i = 0; i < count_; ++i) {
      read_member(rest);
    }
    if (!rest.empty()) {
      reject("its directory has ", rest.size(), " bytes more than its ", count_, " members take");
    }
    check_no_overlap();
    return std::move(members_);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    fail(ErrorKind::kFormat, where_, ": not a ZIP file that can be read: ", parts...);
  }

  std::string bytes_at(std::uint64_t offset, std::uint64_t bytes, std::string_view what) const {
    if (offset > size_ || bytes > size_ - offset) {
      reject(what, " at ", offset, " with ", bytes, " bytes reaches beyond the file's ", size_);
    }
    std::string content(bytes, '\0');
    file_.read_at(offset, content.data(), bytes);
    return content;
  }

  // The end record lies before a comment of at most 65535 bytes; nothing may follow the comment.
  void find_end() {
    const std::uint64_t tail_bytes = std::min<std::uint64_t>(size_, kEndBytes + 0xFFFF);
    const std::string tail = bytes_at(size_ - tail_bytes, tail_bytes, "the end");
    for (std::size_t back = kEndBytes; back <= tail.size(); ++back) {
      const std::string_view end = std::string_view(tail).substr(tail.size() - back);
      if (get<std::uint32_t>(end, 0) == kEnd && get<std::uint16_t>(end, 20) == back - kEndBytes) {
        read_end(end, size_ - back);
        return;
      }
    }
    reject("its end record is missing; the file may be cut off");
  }

  void read_end(std::string_view end, std::uint64_t position) {
    // Offsets are those of the end record: 4 and 6 disks, 8 and 10 members, 12 bytes, 16 start of the directory.
    std::uint64_t start = get<std::uint32_t>(end, 16);
    std::uint64_t bytes = get<std::uint32_t>(end, 12);
    count_ = get<std::uint16_t>(end, 10);
    bool one_disk = get<std::uint32_t>(end, 4) == 0 && get<std::uint16_t>(end, 8) == count_;
    // The ZIP64 locator lies straight before the end record, where there is one.
    if (position >= kLocator64Bytes) {
      const std::string locator = bytes_at(position - kLocator64Bytes, kLocator64Bytes, "the ZIP64 locator");
      if (get<std::uint32_t>(locator, 0) == kLocator64) {
        const std::string end64 = bytes_at(get<std::uint64_t>(locator, 8), kEnd64Bytes, "the ZIP64 end record");
        if (get<std::uint32_t>(end64, 0) != kEnd64) {
          reject("its ZIP64 end record is missing");
        }
        count_ = get<std::uint64_t>(end64, 32);
        one_disk = get<std::uint64_t>(end64, 16) == 0 && get<std::uint64_t>(end64, 24) == count_;
        bytes = get<std::uint64_t>(end64, 40);
        start = get<std::uint64_t>(end64, 48);
      }
    }
    if (!one_disk) {
      reject("it is one part of several");
    }
    if (bytes > kLargestDirectory || count_ > bytes / kCentralBytes) {
      reject("its directory has ", bytes, " bytes for ", count_, " members; at most ", kLargestDirectory,
             " are allowed, at least ", kCentralBytes, " a member needed");
    }
    directory_ = bytes_at(start, bytes, "the directory");
  }

  // Takes one entry off the directory.
  void read_member(std::string_view& rest) {
    if (rest.size() < kCentralBytes || get<std::uint32_t>(rest, 0) != kCentralHeader) {
      reject("its directory is cut off or damaged");
    }
    // An entry: 46 fixed bytes, then name, extra fields and comment with their lengths at 28, 30 and 32.
    const std::size_t name_bytes = get<std::uint16_t>(rest, 28);
    const std::size_t extra_bytes = get<std::uint16_t>(rest, 30);
    const std::size_t all_bytes = kCentralBytes + name_bytes + extra_bytes + get<std::uint16_t>(rest, 32);
    if (all_bytes > rest.size()) {
      reject("its directory is cut off or damaged");
    }
    const std::string name(rest.substr(kCentralBytes, name_bytes));
    if ((get<std::uint16_t>(rest, 8) & kEncrypted) != 0 || get<std::uint16_t>(rest, 10) != 0) {
      reject("its member ", quote(name),
             " is compressed or encrypted, which torch.save never does (TorchScript does, but is a program and never "
             "loaded)");
    }
    std::uint64_t packed = get<std::uint32_t>(rest, 20);
    std::uint64_t size = get<std::uint32_t>(rest, 24);
    std::uint64_t header = get<std::uint32_t>(rest, 42);
    read_extra(rest.substr(kCentralBytes + name_bytes, extra_bytes), {&size, &packed, &header});
    // A stored member has one size.
    if (packed != size) {
      reject("its member ", quote(name), " has ", size, " bytes stored in ", packed);
    }
    add(name, header, {0, size, get<std::uint32_t>(rest, 16)});
    rest.remove_prefix(all_bytes);
  }

  // ZIP64 gives, in this order, those of the fields that have no room in the entry itself.
  void read_extra(std::string_view extra, std::initializer_list<std::uint64_t*> fields) const {
    while (extra.size() >= 4) {
      const std::size_t bytes = get<std::uint16_t>(extra, 2);
      std::string_view content = extra.substr(4, bytes);
      if (content.size() < bytes) {
        reject("an extra field of its directory is cut off");
      }
      for (std::uint64_t* field : fields) {
        if (get<std::uint16_t>(extra, 0) == kExtra64 && *field == kSee64) {
          if (content.size() < sizeof(*field)) {
            reject("a ZIP64 field of its directory is cut off");
          }
          *field = get<std::uint64_t>(content, 0);
          content.remove_prefix(sizeof(*field));
        }
      }
      extra.remove_prefix(4 + bytes);
    }
  }

  void add(const std::string& name, std::uint64_t header, ZipMember member) {
    // Name and extra field of the local header may have other lengths than those of the directory: LibTorch pads there,
    // so that data is aligned.
    const std::string local = bytes_at(header, kLocalBytes, "a member");
    if (get<std::uint32_t>(local, 0) != kLocalHeader) {
      reject("its member ", quote(name), " is not where the directory says");
    }
    member.offset = header + kLocalBytes + get<std::uint16_t>(local, 26) + get<std::uint16_t>(local, 28);
    if (member.offset > size_ || member.size > size_ - member.offset) {
      reject("its member ", quote(name), " with ", member.size, " bytes reaches beyond the file's ", size_);
    }
    if (!members_.emplace(name, member).second) {
      reject("it has two members ", quote(name));
    }
    ranges_.emplace_back(header, member.offset + member.size);
  }

  // Members that share bytes are how small archives claim to be large.
  void check_no_overlap() {
    std::sort(ranges_.begin(), ranges_.end());
    for (std::size_t i = 1; i < ranges_.size(); ++i) {
      if (ranges_[i].first < ranges_[i - 1].second) {
        reject("two of its members overlap at ", ranges_[i].first);
      }
    }
  }

  const MappedFile& file_;
  std::string_view where_;
  std::uint64_t size_;
  std::uint64_t count_ = 0;
  std::string directory_;
  std::unordered_map<std::string, ZipMember> members_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;
};

}  // namespace

std::unordered_map<std::string, ZipMember> read_zip_directory(const MappedFile& file, std::string_view where) {
  return DirectoryReader(file, where).read();
}

void check_member(const MappedFile& file, const ZipMember& member, std::string_view name, std::string_view where) {
  constexpr std::uint64_t kPiece = 1 << 20;
  if (member.checksum == 0) {
    return;
  }
  std::string piece(static_cast<std::size_t>(std::min(member.size, kPiece)), '\0');
  uLong found = ::crc32(0, nullptr, 0);
  for (std::uint64_t at = 0; at < member.size; at += kPiece) {
    const std::uint64_t bytes = std::min(member.size - at, kPiece);
    file.read_at(member.offset + at, piece.data(), static_cast<std::size_t>(bytes));
    found = ::crc32(found, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(bytes));
  }
  if (found != member.checksum) {
    fail(ErrorKind::kFormat, where, ": its member ", quote(name), " is damaged: its CRC-32 must be ", member.checksum,
         ", found ", found);
  }
}

bool looks_like_zip(const MappedFile& file) {
  std::uint32_t start = 0;
  if (file.bytes().size() < kEndBytes) {
    return false;
  }
  file.read_at(0, &start, sizeof(start));
  return start == kLocalHeader || start == kEnd;
}

}  // namespace weft::formats
