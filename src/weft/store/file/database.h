// SPDX-License-Identifier: Apache-2.0
// A database of SQLite and its statements. Every failure is one Error that names the file: kFormat for a file that is
// damaged or no database, kIo for what the system or another process refuses, kInterrupted for Ctrl-C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weft/store/file/sqlite_library.h"

namespace weft::store {

/// What may be done with a file.
enum class Access {
  kRead,    ///< the file is there, and is not changed
  kWrite,   ///< the file is there
  kCreate,  ///< it is made where it is not there
};

class Statement;

/// An open database. Nobody trusts its schema: functions with side effects are refused in it, and its inner tables
/// cannot be written. For one thread at a time.
class Database {
 public:
  /// A file that nobody can write, in a folder that nobody can write, is read as it is.
  Database(const std::filesystem::path& file, Access access);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Statements without results, with ; between them.
  void run(const std::string& sql);
  /// One statement. It must not outlive the database.
  Statement prepare(std::string_view sql);
  /// The number that the one row of `sql` holds.
  std::int64_t number(std::string_view sql);
  /// The number of the last row that was added.
  std::int64_t last_row() const noexcept;

  /// As messages name the file: its path in quotes.
  const std::string& name() const noexcept { return name_; }
  sqlite3* handle() const noexcept { return handle_; }
  /// Throws what `code` means.
  [[noreturn]] void fail_with(int code) const;
  /// Throws kFormat: the file is damaged; `what` says where.
  [[noreturn]] void damaged(std::string_view what) const;

 private:
  std::string name_;
  sqlite3* handle_ = nullptr;
};

/// A prepared statement: bind places from 1, step through its rows, columns from 0.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int place, std::int64_t value);
  Statement& bind(int place, double value);
  /// The text is copied.
  Statement& bind(int place, std::string_view text);
  Statement& bind(int place, std::span<const std::byte> bytes);
  /// A pointer for an interface of SQLite that is asked for so, such as FTS5's.
  Statement& bind(int place, void* pointer, const char* type);

  /// The next row; false behind the last, and the statement is ready to run again.
  bool step();
  /// Steps to the end.
  void run();
  /// Ends a statement before its last row.
  void reset() noexcept;

  /// Of the current row, valid until the next step. Errors: kFormat where the column holds another type.
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  std::span<const std::byte> bytes(int column) const;

 private:
  void check(int code) const;
  void check_type(int column, int type, const char* expected) const;
  Database* database_;
  sqlite3_stmt* handle_ = nullptr;
};

/// What is written between begin and commit() is there whole, or not at all. One at a time.
class Transaction {
 public:
  /// Waits some seconds for another process that writes. Errors: kIo where that goes on.
  explicit Transaction(Database& database);
  ~Transaction();  ///< undoes it all when commit() was not reached
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database* database_;
};

}  // namespace weft::store
