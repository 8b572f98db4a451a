// SPDX-License-Identifier: Apache-2.0
// Every call of SQLite is here: its codes become errors, and what it gives is checked for its type.
#include "weft/store/file/database.h"

#include <unistd.h>

#include <array>
#include <new>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/one_line.h"
#include "weft/core/quote.h"

namespace weft::store {
namespace {

constexpr int kBusyMilliseconds = 5000;

// A path as a URI of SQLite: what has a meaning there becomes %XX.
std::string uri_of(const std::filesystem::path& path, std::string_view query) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char letter : path.native()) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x21 || byte > 0x7e || letter == '%' || letter == '?' || letter == '#') {
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      uri += letter;
    }
  }
  return uri.append(query);
}

// SQLite makes two files beside the one that it reads. Where it cannot, and no writer has left any, nobody writes.
// Errors: kIo where a writer has left its log without the other file.
bool is_sealed(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (access(folder.c_str(), W_OK) == 0) {
    return false;
  }
  const std::string log = path.native() + "-wal";
  std::error_code none;
  if (const std::uintmax_t bytes = std::filesystem::file_size(log, none); none || bytes == 0) {
    return true;
  }
  if (!std::filesystem::exists(path.native() + "-shm", none)) {
    throw Error(ErrorKind::kIo,
                concat(quote(path.native(), 4096), ": a writer has left ", quote(log, 4096),
                       ", which cannot be read in a folder that nobody can write"),
                "copy both files to a folder that you can write, and read them there");
  }
  return false;
}

int open_flags(Access access) {
  constexpr int kCommon = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  switch (access) {
    case Access::kRead:
      return kCommon | SQLITE_OPEN_READONLY;
    case Access::kWrite:
      return kCommon | SQLITE_OPEN_READWRITE;
    case Access::kCreate:
      break;
  }
  return kCommon | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
}

// Files come from other people: no setting of theirs runs code, and no length of theirs fills the memory.
void guard(sqlite3* handle) {
  constexpr std::array<std::pair<int, int>, 3> kSettings = {
      {{SQLITE_DBCONFIG_DEFENSIVE, 1}, {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}}};
  for (const auto& [setting, on] : kSettings) {
    sqlite().db_config(handle, setting, on, nullptr);
  }
  sqlite().limit(handle, SQLITE_LIMIT_LENGTH, 512 << 20);
  sqlite().limit(handle, SQLITE_LIMIT_ATTACHED, 0);
}

}  // namespace

Database::Database(const std::filesystem::path& file, Access access) : name_(quote(file.native(), 4096)) {
  const bool sealed = access == Access::kRead && is_sealed(file);
  const std::string uri = uri_of(std::filesystem::absolute(file), sealed ? "?immutable=1" : "");
  const int code = sqlite().open_v2(uri.c_str(), &handle_, open_flags(access), nullptr);
  try {
    if (code != SQLITE_OK) {
      fail_with(code);
    }
    guard(handle_);
    sqlite().busy_timeout(handle_, kBusyMilliseconds);
    run("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY");
  } catch (...) {
    sqlite().close_v2(handle_);
    throw;
  }
}

Database::~Database() { sqlite().close_v2(handle_); }

void Database::fail_with(int code) const {
  const std::string said = handle_ != nullptr ? one_line(sqlite().errmsg(handle_)) : std::string("out of memory");
  switch (code & 0xff) {
    case SQLITE_NOMEM:
      throw std::bad_alloc();
    case SQLITE_INTERRUPT:
      fail(ErrorKind::kInterrupted, name_, ": interrupted");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw Error(ErrorKind::kIo, concat(name_, ": another process writes this store"), "try again once it has ended");
    case SQLITE_NOTADB:
      fail(ErrorKind::kFormat, name_, ": is no store of weft index: it is no database of SQLite");
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_AUTH:
    case SQLITE_NOLFS:
    case SQLITE_PROTOCOL:
      fail(ErrorKind::kIo, name_, ": ", said);
    default:
      damaged(said);
  }
}

void Database::damaged(std::string_view what) const {
  throw Error(ErrorKind::kFormat, concat(name_, ": the store is damaged: ", one_line(what)),
              "weft index makes a new one from the texts");
}

void Database::run(const std::string& sql) {
  if (const int code = sqlite().exec(handle_, sql.c_str(), nullptr, nullptr, nullptr); code != SQLITE_OK) {
    fail_with(code);
  }
}

Statement Database::prepare(std::string_view sql) { return {*this, sql}; }

std::int64_t Database::number(std::string_view sql) {
  Statement statement(*this, sql);
  if (!statement.step()) {
    damaged("a table has no row");
  }
  return statement.integer(0);
}

std::int64_t Database::last_row() const noexcept { return sqlite().last_insert_rowid(handle_); }

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  check(sqlite().prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()), 0, &handle_, nullptr));
}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), handle_(std::exchange(other.handle_, nullptr)) {}

Statement::~Statement() { sqlite().finalize(handle_); }

void Statement::check(int code) const {
  if (code != SQLITE_OK) {
    database_->fail_with(code);
  }
}

Statement& Statement::bind(int place, std::int64_t value) {
  check(sqlite().bind_int64(handle_, place, value));
  return *this;
}

Statement& Statement::bind(int place, double value) {
  check(sqlite().bind_double(handle_, place, value));
  return *this;
}

Statement& Statement::bind(int place, std::string_view text) {
  // A null pointer would be NULL and not an empty text.
  const char* const begin = text.empty() ? "" : text.data();
  check(sqlite().bind_text64(handle_, place, begin, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(int place, std::span<const std::byte> bytes) {
  const void* const begin = bytes.empty() ? static_cast<const void*>("") : bytes.data();
  check(sqlite().bind_blob64(handle_, place, begin, bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind(int place, void* pointer, const char* type) {
  check(sqlite().bind_pointer(handle_, place, pointer, type, nullptr));
  return *this;
}

bool Statement::step() {
  const int code = sqlite().step(handle_);
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code != SQLITE_DONE) {
    // The message belongs to the connection, and reset() would say the same again.
    try {
      database_->fail_with(code);
    } catch (...) {
      reset();
      throw;
    }
  }
  reset();
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::reset() noexcept { sqlite().reset(handle_); }

void Statement::check_type(int column, int type, const char* expected) const {
  if (sqlite().column_type(handle_, column) != type) {
    database_->damaged(concat("a column should hold ", expected, ", and holds another type"));
  }
}

std::int64_t Statement::integer(int column) const {
  check_type(column, SQLITE_INTEGER, "a whole number");
  return sqlite().column_int64(handle_, column);
}

double Statement::real(int column) const {
  check_type(column, SQLITE_FLOAT, "a number");
  return sqlite().column_double(handle_, column);
}

std::string_view Statement::text(int column) const {
  check_type(column, SQLITE_TEXT, "a text");
  const auto* const begin = static_cast<const char*>(sqlite().column_blob(handle_, column));
  return {begin == nullptr ? "" : begin, static_cast<std::size_t>(sqlite().column_bytes(handle_, column))};
}

std::span<const std::byte> Statement::bytes(int column) const {
  check_type(column, SQLITE_BLOB, "bytes");
  const auto* const begin = static_cast<const std::byte*>(sqlite().column_blob(handle_, column));
  return {begin, static_cast<std::size_t>(sqlite().column_bytes(handle_, column))};
}

Transaction::Transaction(Database& database) : database_(&database) { database.run("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  if (database_ != nullptr) {
    sqlite().exec(database_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() {
  database_->run("COMMIT");
  database_ = nullptr;
}

}  // namespace weft::store
