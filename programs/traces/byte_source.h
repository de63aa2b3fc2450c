// The bytes of a file, decompressed on the way where it is a gzip file.
//
//   ByteSource source("trace.json.gz");
//   const std::size_t got = source.read(buffer, sizeof buffer);   // 0 at the end
//
// A file that cannot be opened is an InputError. What breaks in the middle (a read error, a gzip
// stream that is cut off or damaged) ends the bytes and is reported by `failure`, so that what was
// read until then can be used. A directory, a device or a pipe is refused: only a file has an end.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ridge::programs {

class ByteSource {
  public:
    explicit ByteSource(const std::string& path);
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    ~ByteSource();

    /// The first bytes, up to 32 KiB of them, without taking them.
    [[nodiscard]] std::string_view peek();

    /// Up to `size` bytes into `buffer`; 0 at the end or at a failure.
    std::size_t read(char* buffer, std::size_t size);

    /// What ended the bytes before their time; empty when nothing did.
    [[nodiscard]] const std::string& failure() const { return failure_; }

  private:
    struct File;
    std::size_t unpack(char* buffer, std::size_t size);

    std::unique_ptr<File> file_;
    std::string ahead_;  ///< seen by `peek`, not yet read
    std::string failure_;
};

}  // namespace ridge::programs
