// SPDX-License-Identifier: Apache-2.0
// dlopen with RTLD_LOCAL: no other library binds to SQLite's names.
#include "weft/store/file/sqlite_library.h"

#include "weft/core/system/opened_library.h"

namespace weft::store {
namespace {

constexpr const char* kSqliteFile = "libsqlite3.so.0";

SqliteLibrary open_sqlite() {
  const OpenedLibrary library(kSqliteFile, "cannot open a store",
                              "install SQLite (Debian: apt-get install libsqlite3-0)");
  SqliteLibrary found;
  library.find("sqlite3_open_v2", found.open_v2);
  library.find("sqlite3_close_v2", found.close_v2);
  library.find("sqlite3_exec", found.exec);
  library.find("sqlite3_prepare_v3", found.prepare_v3);
  library.find("sqlite3_step", found.step);
  library.find("sqlite3_reset", found.reset);
  library.find("sqlite3_finalize", found.finalize);
  library.find("sqlite3_bind_int64", found.bind_int64);
  library.find("sqlite3_bind_double", found.bind_double);
  library.find("sqlite3_bind_text64", found.bind_text64);
  library.find("sqlite3_bind_blob64", found.bind_blob64);
  library.find("sqlite3_bind_pointer", found.bind_pointer);
  library.find("sqlite3_column_type", found.column_type);
  library.find("sqlite3_column_int64", found.column_int64);
  library.find("sqlite3_column_double", found.column_double);
  library.find("sqlite3_column_blob", found.column_blob);
  library.find("sqlite3_column_bytes", found.column_bytes);
  library.find("sqlite3_errmsg", found.errmsg);
  library.find("sqlite3_db_config", found.db_config);
  library.find("sqlite3_limit", found.limit);
  library.find("sqlite3_busy_timeout", found.busy_timeout);
  library.find("sqlite3_last_insert_rowid", found.last_insert_rowid);
  return found;
}

}  // namespace

const SqliteLibrary& sqlite() {
  static const SqliteLibrary library = open_sqlite();
  return library;
}

}  // namespace weft::store
