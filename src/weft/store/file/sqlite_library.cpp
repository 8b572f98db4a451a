// SPDX-License-Identifier: Apache-2.0
// dlopen with RTLD_LOCAL: no other library binds to SQLite's names.
#include "weft/store/file/sqlite_library.h"

#include <dlfcn.h>

#include "weft/core/error.h"
#include "weft/core/one_line.h"

namespace weft::store {
namespace {

constexpr const char* kSqliteFile = "libsqlite3.so.0";

[[noreturn]] void fail_without_sqlite() {
  const char* const reason = dlerror();
  throw Error(
      ErrorKind::kUnsupported,
      concat("cannot open a store: ", kSqliteFile, " does not load: ", one_line(reason != nullptr ? reason : "")),
      "install SQLite (Debian: apt-get install libsqlite3-0)");
}

template <typename Function>
void find_in_sqlite(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    fail_without_sqlite();
  }
}

SqliteLibrary open_sqlite() {
  void* const library = dlopen(kSqliteFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail_without_sqlite();
  }
  SqliteLibrary found;
  find_in_sqlite(library, "sqlite3_open_v2", found.open_v2);
  find_in_sqlite(library, "sqlite3_close_v2", found.close_v2);
  find_in_sqlite(library, "sqlite3_exec", found.exec);
  find_in_sqlite(library, "sqlite3_prepare_v3", found.prepare_v3);
  find_in_sqlite(library, "sqlite3_step", found.step);
  find_in_sqlite(library, "sqlite3_reset", found.reset);
  find_in_sqlite(library, "sqlite3_finalize", found.finalize);
  find_in_sqlite(library, "sqlite3_bind_int64", found.bind_int64);
  find_in_sqlite(library, "sqlite3_bind_double", found.bind_double);
  find_in_sqlite(library, "sqlite3_bind_text64", found.bind_text64);
  find_in_sqlite(library, "sqlite3_bind_blob64", found.bind_blob64);
  find_in_sqlite(library, "sqlite3_bind_pointer", found.bind_pointer);
  find_in_sqlite(library, "sqlite3_column_type", found.column_type);
  find_in_sqlite(library, "sqlite3_column_int64", found.column_int64);
  find_in_sqlite(library, "sqlite3_column_double", found.column_double);
  find_in_sqlite(library, "sqlite3_column_blob", found.column_blob);
  find_in_sqlite(library, "sqlite3_column_bytes", found.column_bytes);
  find_in_sqlite(library, "sqlite3_errmsg", found.errmsg);
  find_in_sqlite(library, "sqlite3_db_config", found.db_config);
  find_in_sqlite(library, "sqlite3_limit", found.limit);
  find_in_sqlite(library, "sqlite3_busy_timeout", found.busy_timeout);
  find_in_sqlite(library, "sqlite3_last_insert_rowid", found.last_insert_rowid);
  return found;
}

}  // namespace

const SqliteLibrary& sqlite() {
  static const SqliteLibrary library = open_sqlite();
  return library;
}

}  // namespace weft::store
