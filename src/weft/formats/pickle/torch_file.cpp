// SPDX-License-Identifier: Apache-2.0
// The two containers of torch/serialization.py, and reading of views that have gaps.
#include "weft/formats/pickle/torch_file.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/quote.h"
#include "weft/formats/pickle/machine.h"
#include "weft/formats/pickle/zip_archive.h"

namespace weft::formats {
namespace {

using Kind = Value::Kind;

// 0x1950a86a20f9469cfc6c, the first pickle of the form before ZIP, and the second one.
constexpr std::string_view kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr std::int64_t kLegacyVersion = 1001;

std::string read_bytes(const MappedFile& file, std::uint64_t offset, std::uint64_t count) {
  std::string content(count, '\0');
  file.read_at(offset, content.data(), count);
  return content;
}

// The archive's one folder, known by the record that every one has.
std::string archive_folder(const std::unordered_map<std::string, ZipMember>& members, std::string_view where) {
  constexpr std::string_view kPickle = "data.pkl";
  std::string folder;
  int found = 0;
  // The folder has the name of the file at the time of saving, so that it is found by what lies in it.
  for (const auto& [name, member] : members) {
    const std::string_view view = name;
    if (view.ends_with(kPickle) && std::count(view.begin(), view.end(), '/') == 1 &&
        view[view.size() - kPickle.size() - 1] == '/') {
      folder = view.substr(0, view.size() - kPickle.size());
      ++found;
    }
  }
  if (found != 1) {
    fail(ErrorKind::kFormat, where, ": a ZIP file, but not one of PyTorch: it has ", found, " records 'data.pkl'");
  }
  if (members.contains(folder + "constants.pkl")) {
    fail(ErrorKind::kFormat, where, ": a TorchScript archive, a program and no state dict, which is never loaded");
  }
  return folder;
}

// Walks the pickles that lie one behind the other.
class PickleRow {
 public:
  PickleRow(std::string_view bytes, std::string_view where) : rest_(bytes), where_(where), size_(bytes.size()) {}
  PickleValues next() {
    PickleValues pickle = read_pickle(rest_, where_);
    rest_.remove_prefix(pickle.bytes);
    return pickle;
  }
  std::uint64_t position() const { return size_ - rest_.size(); }

 private:
  std::string_view rest_;
  std::string_view where_;
  std::size_t size_;
};

// Throws unless the pickle is {..., 'little_endian': True, ...}.
void check_little_endian(const PickleValues& pickle, std::string_view where) {
  const std::vector<ValueId>& items = pickle.top().items;
  for (std::size_t i = 0; pickle.top().kind == Kind::kDict && i + 1 < items.size(); i += 2) {
    const Value& value = pickle.at(items[i + 1]);
    if (pickle.at(items[i]).text == "little_endian" && value.kind == Kind::kBool && value.integer == 1) {
      return;
    }
  }
  fail(ErrorKind::kFormat, where, ": it does not say that its data is little-endian");
}

// Where each storage of the old form lies: a list of keys, then for each an element count and its bytes.
std::unordered_map<std::string, std::uint64_t> legacy_offsets(const PickleValues& keys,
                                                              const std::vector<StoredTensor>& tensors,
                                                              const MappedFile& file, std::uint64_t position) {
  const std::string where = quote(file.path().native(), 4096);
  // The list has keys only; size and type of a storage are those that its tensors say.
  std::unordered_map<std::string_view, const StoredTensor*> users;
  for (const StoredTensor& tensor : tensors) {
    users.emplace(tensor.storage, &tensor);
  }
  std::unordered_map<std::string, std::uint64_t> offsets;
  const std::uint64_t size = file.bytes().size();
  for (const ValueId id : keys.top().items) {
    const auto user = users.find(keys.at(id).text);
    if (keys.top().kind != Kind::kList || user == users.end() || offsets.contains(std::string(user->first))) {
      fail(ErrorKind::kFormat, where, ": its list of storages names ", quote(keys.at(id).text),
           ", which no tensor uses, or names it twice");
    }
    const StoredTensor& tensor = *user->second;
    // The count stands before the data and must be what the pickle says, or everything behind it would be misread.
    std::uint64_t elements = 0;
    if (size - position < sizeof(elements)) {
      fail(ErrorKind::kFormat, where, ": it ends before the storage of tensor ", quote(tensor.name));
    }
    file.read_at(position, &elements, sizeof(elements));
    position += sizeof(elements);
    if (elements > tensor.storage_bytes || tensor.storage_bytes != elements * tensor.storage_item ||
        tensor.storage_bytes > size - position) {
      fail(ErrorKind::kFormat, where, ": the storage of tensor ", quote(tensor.name), " has ", elements,
           " elements in the file, but ", tensor.storage_bytes, " bytes by the pickle and ", size - position,
           " to the end of the file");
    }
    offsets.emplace(user->first, position);
    position += tensor.storage_bytes;
  }
  if (position != size) {
    fail(ErrorKind::kFormat, where, ": ", size - position, " bytes at the end belong to no storage");
  }
  return offsets;
}

// Copies a view with gaps, whose bytes from first to last element are at `source`, into row-major order.
void gather(const StoredTensor& tensor, const char* source, char* destination) {
  const std::size_t item = dtype_size(tensor.dtype);
  const std::size_t rank = tensor.shape.size();
  // An odometer over the shape; `at` is the element of the storage that it points to.
  std::vector<std::int64_t> index(rank);
  std::uint64_t at = 0;
  for (std::uint64_t done = 0; done < tensor.bytes; done += item) {
    std::memcpy(destination + done, source + at * item, item);
    for (std::size_t axis = rank; axis-- > 0;) {
      const auto stride = static_cast<std::uint64_t>(tensor.strides[axis]);
      at += stride;
      if (++index[axis] < tensor.shape[axis]) {
        break;
      }
      at -= stride * static_cast<std::uint64_t>(tensor.shape[axis]);
      index[axis] = 0;
    }
  }
}

}  // namespace

TorchFile::TorchFile(const FilePlace& file) : file_(file) {
  const std::string where = quote(path().native(), 4096);
  if (looks_like_zip(file_)) {
    open_zip(where);
  } else {
    open_legacy(where);
  }
  index_names();
}

namespace {

/// An archive's records, and the pickle among them.
struct OpenedArchive {
  std::unordered_map<std::string, ZipMember> members;
  std::string folder;
  std::string pickle;
};

OpenedArchive open_archive(const MappedFile& file, std::string_view where) {
  OpenedArchive archive{read_zip_directory(file, where), {}, {}};
  archive.folder = archive_folder(archive.members, where);
  const ZipMember pickle = archive.members.at(archive.folder + "data.pkl");
  if (pickle.size > kLargestPickle) {
    fail(ErrorKind::kFormat, where, ": its pickle has ", pickle.size, " bytes, at most ", kLargestPickle, " are read");
  }
  // Older archives lack this record; they come from little-endian machines.
  const auto order = archive.members.find(archive.folder + "byteorder");
  if (order != archive.members.end() &&
      (order->second.size != 6 || read_bytes(file, order->second.offset, 6) != "little")) {
    fail(ErrorKind::kFormat, where, ": its data is not little-endian");
  }
  check_member(file, pickle, "data.pkl", where);
  archive.pickle = read_bytes(file, pickle.offset, pickle.size);
  return archive;
}

/// The first pickles of the form before ZIP, read up to the one that matters.
PickleRow begin_legacy(std::string_view start, std::string_view where) {
  // The number comes as the first pickle, behind its protocol and the length of the number.
  if (start.find(kMagic) > 16) {
    fail(ErrorKind::kFormat, where, ": not a file of PyTorch: neither a ZIP file nor one that begins with its number");
  }
  PickleRow pickles(start, where);
  const PickleValues magic = pickles.next();
  const PickleValues version = pickles.next();
  if (magic.top().text != kMagic || version.top().integer != kLegacyVersion) {
    fail(ErrorKind::kFormat, where, ": its version is ", version.top().integer, ", only ", kLegacyVersion, " is read");
  }
  check_little_endian(pickles.next(), where);
  return pickles;
}

std::string legacy_start(const MappedFile& file) {
  return read_bytes(file, 0, std::min<std::uint64_t>(file.bytes().size(), kLargestPickle));
}

}  // namespace

PickledObject read_torch_object(const FilePlace& place) {
  const MappedFile file(place);
  const std::string where = quote(file.path().native(), 4096);
  PickledObject object;
  if (looks_like_zip(file)) {
    object.bytes = std::make_unique<const std::string>(open_archive(file, where).pickle);
    object.pickle = read_pickle(*object.bytes, where);
  } else {
    object.bytes = std::make_unique<const std::string>(legacy_start(file));
    object.pickle = begin_legacy(*object.bytes, where).next();
  }
  return object;
}

void TorchFile::open_zip(std::string_view where) {
  const OpenedArchive archive = open_archive(file_, where);
  const auto& [members, folder, pickle] = archive;
  place(read_state_dict(read_pickle(pickle, where), where), [&](const StoredTensor& tensor) {
    const auto found = members.find(folder + "data/" + tensor.storage);
    if (found == members.end()) {
      fail(ErrorKind::kFormat, where, ": tensor ", quote(tensor.name), ": its storage ", quote(tensor.storage),
           " is missing");
    }
    if (found->second.size != tensor.storage_bytes) {
      fail(ErrorKind::kFormat, where, ": tensor ", quote(tensor.name), ": its storage has ", tensor.storage_bytes,
           " bytes by the pickle, but ", found->second.size, " in the file");
    }
    storages_.try_emplace(tensor.storage, CheckedStorage{found->second});
    return found->second.offset;
  });
}

void TorchFile::open_legacy(std::string_view where) {
  const std::string start = legacy_start(file_);
  PickleRow pickles = begin_legacy(start, where);
  std::vector<StoredTensor> tensors = read_state_dict(pickles.next(), where);
  const PickleValues keys = pickles.next();
  const auto offsets = legacy_offsets(keys, tensors, file_, pickles.position());
  place(std::move(tensors), [&](const StoredTensor& tensor) {
    const auto found = offsets.find(tensor.storage);
    if (found == offsets.end()) {
      fail(ErrorKind::kFormat, where, ": tensor ", quote(tensor.name), ": its storage ", quote(tensor.storage),
           " is missing");
    }
    return found->second;
  });
}

// Also holds every tensor to what the file has of its storage: tensors that share one may lie about it.
void TorchFile::place(std::vector<StoredTensor> tensors, const StorageOffset& storage_offset) {
  std::unordered_map<std::string, std::uint64_t> sizes;
  for (StoredTensor& tensor : tensors) {
    const std::uint64_t size = sizes.emplace(tensor.storage, tensor.storage_bytes).first->second;
    if (size != tensor.storage_bytes) {
      fail(ErrorKind::kFormat, quote(path().native(), 4096), ": tensor ", quote(tensor.name), ": its storage ",
           quote(tensor.storage), " has ", tensor.storage_bytes, " bytes, but ", size, " for another tensor");
    }
    const std::uint64_t begin = storage_offset(tensor) + tensor.offset * dtype_size(tensor.dtype);
    infos_.push_back({tensor.name, tensor.dtype, tensor.shape, begin, begin + tensor.bytes});
  }
  stored_ = std::move(tensors);
}

const StoredTensor& TorchFile::stored(const TensorInfo& tensor) const {
  const TensorInfo* found = find(tensor.name);
  require(found != nullptr, Quoted(path().native(), 4096), " has no tensor ", Quoted(tensor.name));
  return stored_[static_cast<std::size_t>(found - infos_.data())];
}

void TorchFile::check_storage(const StoredTensor& tensor) const {
  const auto found = storages_.find(tensor.storage);
  if (found != storages_.end()) {
    std::call_once(*found->second.checked, [&] {
      check_member(file_, found->second.member, "data/" + tensor.storage, quote(path().native(), 4096));
    });
  }
}

std::span<const std::byte> TorchFile::bytes(const TensorInfo& tensor) const {
  const StoredTensor& view = stored(tensor);
  check_storage(view);
  file_.check_unchanged();
  return view.contiguous() ? file_.bytes().subspan(tensor.begin, view.bytes) : std::span<const std::byte>();
}

void TorchFile::read(const TensorInfo& tensor, void* destination) const {
  const StoredTensor& view = stored(tensor);
  check_storage(view);
  if (view.contiguous()) {
    file_.read_at(tensor.begin, destination, view.bytes);
    return;
  }
  const std::string source = read_bytes(file_, tensor.begin, view.span_bytes());
  gather(view, source.data(), static_cast<char*>(destination));
}

}  // namespace weft::formats
