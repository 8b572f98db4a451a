// SPDX-License-Identifier: Apache-2.0
// One blob after the other, each under its lock: the part that is there, a request for the rest, the digest, a rename.
#include "weft/hub/download.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fcntl.h>

#include "weft/core/descriptor.h"
#include "weft/core/error.h"
#include "weft/core/number.h"
#include "weft/core/progress.h"
#include "weft/core/quote.h"
#include "weft/hub/blob_digest.h"
#include "weft/hub/cache.h"

namespace weft::hub {
namespace {

namespace fs = std::filesystem;

constexpr int kMostFruitlessAttempts = 5;  // one after the other that brought no byte
constexpr int kMostAttempts = 1000;

std::string shown_bytes(std::uint64_t bytes) {
  if (bytes < 1'000'000) {
    return concat(bytes, " bytes");
  }
  return bytes < 1'000'000'000 ? concat(bytes / 1'000'000, " MB")
                               : concat(bytes / 1'000'000'000, ".", bytes / 100'000'000 % 10, " GB");
}

// Follows links, and takes a file of the right size for whole: `weft cache verify` looks at every byte.
bool has_blob(const fs::path& blob, std::uint64_t size) {
  std::error_code error;
  return fs::is_regular_file(blob, error) && fs::file_size(blob, error) == size && !error;
}

// "bytes 100-199/200": whether the answer begins at `from` of `size` bytes. An answer of 200 begins at 0.
bool begins_at(const HttpAnswer& answer, std::uint64_t from, std::uint64_t size) {
  if (answer.status == 200) {
    return from == 0;
  }
  const std::string range = answer.header("content-range");
  const std::string wanted = concat("bytes ", from, "-");
  const std::size_t slash = range.find('/');
  return range.starts_with(wanted) && slash != std::string::npos &&
         number_of<std::uint64_t>(std::string_view(range).substr(slash + 1)) == size;
}

// What the files of one model share.
struct Transfer {
  HubClient& client;
  const ModelName& name;
  std::string commit;
  ModelCache cache;
  ProgressBar& bar;
  std::uint64_t done = 0;     // bytes of whole files
  std::uint64_t fetched = 0;  // bytes that came over the network
};

// One file on its way. What it has lies in the file that is open here.
class BlobDownload {
 public:
  BlobDownload(Transfer& transfer, const HubFile& file)
      : transfer_(transfer),
        file_(file),
        path_(transfer.cache.incomplete(file.etag)),
        part_(path_, O_RDWR | O_CREAT | O_NOFOLLOW | O_APPEND, 0644),
        have_(part_.size()) {
    if (have_ > file.size) {
      begin_anew();
    }
  }

  void run() {
    for (bool second = false;; second = true) {
      fetch_rest();
      const std::string digest = blob_digest(path_, file_.etag);
      if (digest == file_.etag) {
        break;
      }
      begin_anew();
      if (second) {
        remove_part();
        throw Error(ErrorKind::kFormat,
                    concat("the Hub sends other bytes of ", quote(file_.path), " than it lists: expected the digest ",
                           file_.etag, ", found ", digest),
                    "try again later, or without a proxy in between");
      }
    }
    finish();
  }

 private:
  // Until the file has its length. An attempt that comes further than all before it is not fruitless.
  void fetch_rest() {
    std::uint64_t furthest = have_;
    int fruitless = 0;
    for (int attempts = 0; have_ < file_.size; ++attempts) {
      const Attempt attempt = fetch_once();
      if (have_ >= file_.size) {
        break;
      }
      const bool good = attempt.answer.status == 200 || attempt.answer.status == 206 || attempt.answer.status == 416;
      if (!good && !attempt.again) {
        transfer_.client.refuse(transfer_.name, attempt);
      }
      fruitless = have_ > furthest ? 0 : fruitless + 1;
      furthest = std::max(furthest, have_);
      if (fruitless >= kMostFruitlessAttempts || attempts >= kMostAttempts) {
        give_up(attempt);
      }
      if (fruitless > 0) {
        transfer_.client.wait(fruitless + 1, attempt.wait_seconds);
      }
    }
  }

  Attempt fetch_once() {
    lie_.clear();
    bool first = true;
    Attempt attempt = transfer_.client.fetch(transfer_.name, transfer_.commit, file_, have_,
                                             [&](const HttpAnswer& answer, std::string_view bytes) {
                                               if (std::exchange(first, false) && !accept(answer)) {
                                                 return false;
                                               }
                                               return take(bytes);
                                             });
    if (attempt.answer.status == 416) {  // the part is not one of this file
      begin_anew();
    }
    return attempt;
  }

  // A server without ranges sends the whole file again.
  bool accept(const HttpAnswer& answer) {
    if (answer.status == 200 && have_ > 0) {
      begin_anew();
    }
    if (!begins_at(answer, have_, file_.size)) {
      lie_ = concat("asked for bytes from ", have_, " of ", file_.size, ", it sends ",
                    quote(answer.header("content-range")));
      begin_anew();
      return false;
    }
    return true;
  }

  bool take(std::string_view bytes) {
    if (bytes.size() > file_.size - have_) {
      lie_ = concat("it sends more than the ", file_.size, " bytes that it lists");
      begin_anew();
      return false;
    }
    part_.write_all(bytes.data(), bytes.size());
    have_ += bytes.size();
    transfer_.fetched += bytes.size();
    transfer_.bar.update(static_cast<double>(transfer_.done + have_), file_.path);
    return true;
  }

  void begin_anew() {
    part_.truncate(0);
    have_ = 0;
  }

  void remove_part() const {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }

  [[noreturn]] void give_up(const Attempt& attempt) {
    const std::string reason = lie_.empty() ? attempt.reason() : concat(attempt.host, ": ", lie_);
    throw Error(ErrorKind::kIo,
                concat("cannot download ", quote(file_.path), " of ", quote(transfer_.name.text()), ": ", reason,
                       ", with ", have_, " of ", file_.size, " bytes here"),
                "try again later: the download goes on where it stopped");
  }

  // The rename replaces a link, and does not write through it.
  void finish() {
    part_.sync();
    std::error_code error;
    fs::rename(path_, transfer_.cache.blob(file_.etag), error);
    if (error) {
      fail_io("rename", path_, error.value());
    }
    sync_directory(path_.parent_path());
  }

  Transfer& transfer_;
  const HubFile& file_;
  fs::path path_;
  Descriptor part_;
  std::uint64_t have_;
  std::string lie_;  // what is wrong with an answer, for give_up()
};

void fetch_file(Transfer& transfer, const HubFile& file) {
  const fs::path blob = transfer.cache.blob(file.etag);
  if (!has_blob(blob, file.size)) {
    const FileLock lock(transfer.cache.lock(file.etag));
    if (!has_blob(blob, file.size)) {  // another program may have brought it meanwhile
      BlobDownload(transfer, file).run();
    }
  }
  transfer.cache.link(transfer.commit, file.path, file.etag);
  transfer.done += file.size;
  transfer.bar.update(static_cast<double>(transfer.done));
}

// Bytes that are to be written; what is there already needs no room.
std::uint64_t missing_bytes(const ModelCache& cache, const std::vector<HubFile>& files) {
  std::uint64_t bytes = 0;
  for (const HubFile& file : files) {
    std::error_code error;
    const std::uint64_t part = fs::file_size(cache.incomplete(file.etag), error);
    bytes += has_blob(cache.blob(file.etag), file.size) ? 0 : error || part > file.size ? file.size : file.size - part;
  }
  return bytes;
}

void check_room(const ModelCache& cache, std::uint64_t bytes, const std::string& model) {
  std::error_code error;
  const fs::space_info room = fs::space(cache.folder(), error);
  if (!error && room.available < bytes) {
    throw Error(ErrorKind::kIo,
                concat("cannot download ", quote(model), ": it needs ", shown_bytes(bytes), ", but the disk of ",
                       quote(cache.folder().native(), 4096), " has ", shown_bytes(room.available), " left"),
                "set HF_HUB_CACHE to a folder of another disk, or see `weft cache list`");
  }
}

// Folders below the repository's are listed for who names files, and where sentence-transformers put modules into some.
std::vector<HubFile> wanted_files(HubClient& client, const ModelName& name, const std::string& commit, Need need,
                                  const FilePatterns& patterns) {
  if (!patterns.include.empty()) {
    return included_files(client.files(name, commit, Folders::kAll), patterns, name.text());
  }
  std::vector<HubFile> files = client.files(name, commit);
  if (need == Need::kModel && has_modules(files)) {
    files = client.files(name, commit, Folders::kAll);
  }
  return without_excluded(needed_files(files, need, name.text()), patterns);
}

}  // namespace

Downloaded download_model(const ModelName& name, const HubSettings& settings, Need need, const FilePatterns& patterns) {
  HubClient client(settings);
  Downloaded result;
  result.commit = client.commit(name);
  const std::vector<HubFile> files = wanted_files(client, name, result.commit, need, patterns);
  const ModelCache cache(settings.cache, name);
  make_folders(cache.folder() / "blobs");
  const std::uint64_t missing = missing_bytes(cache, files);
  check_room(cache, missing, name.text());
  for (const HubFile& file : files) {
    result.bytes += file.size;
  }
  ProgressBar bar(concat("downloading ", name.text(), " (", shown_bytes(result.bytes), ")"),
                  static_cast<double>(result.bytes), static_cast<double>(result.bytes - missing));
  Transfer transfer{client, name, result.commit, cache, bar};
  for (const HubFile& file : files) {
    fetch_file(transfer, file);
  }
  cache.remember(name.revision, result.commit);
  const auto is_tokenizer = [](const HubFile& file) { return is_tokenizer_file(file.path); };
  if (patterns.empty() && std::ranges::none_of(files, is_tokenizer)) {
    cache.note_absent(result.commit, "tokenizer.json");
  }
  result.snapshot = cache.snapshot(result.commit);
  result.files = files.size();
  result.fetched = transfer.fetched;
  return result;
}

}  // namespace weft::hub
