// The bytes of a file, decompressed while reading if it is a gzip file.
//
//   ByteSource source("trace.json.gz");
//   const std::size_t got = source.read(buffer, sizeof buffer);   // 0 at the end
//
// A file that cannot be opened is an InputError. A failure while reading (a read error, a gzip
// stream that is cut off or damaged) ends the bytes and is reported by `failure`, so the bytes read
// before it can be used. A folder, a device or a pipe is refused: only a file has an end.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ridge {

class ByteSource {
  public:
    explicit ByteSource(const std::string& path);
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    ~ByteSource();

    /// The first bytes, up to 32 KiB, without consuming them.
    [[nodiscard]] std::string_view peek();

    /// Reads up to `size` bytes into `buffer`; returns 0 at the end or after a failure.
    std::size_t read(char* buffer, std::size_t size);

    /// Whether the file is compressed (once something was peeked or read).
    [[nodiscard]] bool compressed() const;

    /// Why the bytes ended early; empty if they did not.
    [[nodiscard]] const std::string& failure() const { return failure_; }

  private:
    struct File;
    std::size_t unpack(char* buffer, std::size_t size);

    std::unique_ptr<File> file_;
    std::string ahead_;  ///< seen by `peek`, not yet read
    std::string failure_;
};

}  // namespace ridge
