// SPDX-License-Identifier: Apache-2.0
// SQLite, opened when the first store is opened and not before: relocating it would take a twentieth of the time of
// `weft --help`. Only store/file/ uses it, and store/words/ its interface to FTS5.
#pragma once

#include <sqlite3.h>

namespace weft::store {

/// The functions of SQLite that Weft calls, with the types of its header.
struct SqliteLibrary {
  decltype(&::sqlite3_open_v2) open_v2 = nullptr;
  decltype(&::sqlite3_close_v2) close_v2 = nullptr;
  decltype(&::sqlite3_exec) exec = nullptr;
  decltype(&::sqlite3_prepare_v3) prepare_v3 = nullptr;
  decltype(&::sqlite3_step) step = nullptr;
  decltype(&::sqlite3_reset) reset = nullptr;
  decltype(&::sqlite3_finalize) finalize = nullptr;
  decltype(&::sqlite3_bind_int64) bind_int64 = nullptr;
  decltype(&::sqlite3_bind_double) bind_double = nullptr;
  decltype(&::sqlite3_bind_text64) bind_text64 = nullptr;
  decltype(&::sqlite3_bind_blob64) bind_blob64 = nullptr;
  decltype(&::sqlite3_bind_pointer) bind_pointer = nullptr;
  decltype(&::sqlite3_column_type) column_type = nullptr;
  decltype(&::sqlite3_column_int64) column_int64 = nullptr;
  decltype(&::sqlite3_column_double) column_double = nullptr;
  decltype(&::sqlite3_column_blob) column_blob = nullptr;
  decltype(&::sqlite3_column_bytes) column_bytes = nullptr;
  decltype(&::sqlite3_errmsg) errmsg = nullptr;
  decltype(&::sqlite3_db_config) db_config = nullptr;
  decltype(&::sqlite3_limit) limit = nullptr;
  decltype(&::sqlite3_busy_timeout) busy_timeout = nullptr;
  decltype(&::sqlite3_last_insert_rowid) last_insert_rowid = nullptr;
};

/// The library, opened once and never closed. Errors: kUnsupported where it is not installed, with what to install.
const SqliteLibrary& sqlite();

}  // namespace weft::store
