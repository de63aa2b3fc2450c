// Reads a SQLite database: queries, rows, and whether the file is damaged.
//
//   SqliteDatabase database("report.sqlite");
//   if (auto rows = database.query("SELECT id, value FROM StringIds")) {
//       while (rows->next()) use(rows->whole(0), rows->text(1));
//   }
//   database.failure();   // what ended a query early; empty if nothing did
//
// The library (libsqlite3) is loaded when it is first needed, so nothing else depends on it; if it
// is missing, an InputError says so. Files are opened read-only. A query that the database does not
// understand (no such table) returns no value; it is not an error.
//
// A crafted file of a few bytes can yield rows without end (a page that is listed a thousand times,
// a view that counts, a computed column). So views and functions are refused, and rows and texts
// end with a failure when they need more bytes than the file has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ridge::programs {

class SqliteRows {
  public:
    SqliteRows(const SqliteRows&) = delete;
    SqliteRows& operator=(const SqliteRows&) = delete;
    SqliteRows(SqliteRows&& other) noexcept;
    SqliteRows& operator=(SqliteRows&&) = delete;
    ~SqliteRows();

    /// False at the end or after a failure.
    bool next();
    /// 0 if there is no number.
    [[nodiscard]] std::int64_t whole(int column) const;
    /// Valid until the next row; empty if there is no text. Call it once per row.
    [[nodiscard]] std::string_view text(int column) const;
    [[nodiscard]] bool null(int column) const;

  private:
    friend class SqliteDatabase;
    /// State shared by the rows of all queries.
    struct Reading {
        std::string failure{};
        std::int64_t bytes_left = 0;  ///< bytes that rows and texts may still use
    };
    SqliteRows(void* statement, Reading& reading) : statement_(statement), reading_(&reading) {}

    void* statement_;
    Reading* reading_;
};

class SqliteDatabase {
  public:
    explicit SqliteDatabase(const std::string& file);
    SqliteDatabase(const SqliteDatabase&) = delete;
    SqliteDatabase& operator=(const SqliteDatabase&) = delete;
    ~SqliteDatabase();

    [[nodiscard]] std::optional<SqliteRows> query(const std::string& sql);
    [[nodiscard]] bool has(const std::string& table, const std::string& column);
    [[nodiscard]] const std::string& failure() const { return reading_->failure; }

  private:
    void* handle_ = nullptr;
    std::unique_ptr<SqliteRows::Reading> reading_;  ///< rows point to it
};

}  // namespace ridge::programs
