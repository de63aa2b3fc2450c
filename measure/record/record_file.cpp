#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <utility>

#include "hardware/byte_source.h"
#include "measure/record/record.h"
#include "measure/record/record_lines.h"

namespace ridge::measure {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_system(const std::string& path, const char* what, int error) {
    throw InputError(std::string(what) + ": " + std::strerror(error), {.file = path});
}

/// A file descriptor that closes itself.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    [[nodiscard]] int number() const { return number_; }

  private:
    int number_;
};

std::int64_t size_of_file(int descriptor, const std::string& path) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) throw_system(path, "cannot be examined", errno);
    if (!S_ISREG(status.st_mode)) throw InputError("is not a regular file", {.file = path});
    return status.st_size;
}

/// The text after the last newline: the remains of an interrupted write, usually empty.
std::string unfinished_tail(int descriptor, std::int64_t size, const std::string& path) {
    std::string tail;
    std::string block;
    for (std::int64_t end = size; end > 0;) {
        const std::int64_t begin = std::max<std::int64_t>(0, end - 65536);
        block.resize(static_cast<std::size_t>(end - begin));
        const ssize_t got = ::pread(descriptor, block.data(), block.size(), begin);
        if (got != static_cast<ssize_t>(block.size())) throw_system(path, "cannot be read", errno);
        const std::size_t newline = block.rfind('\n');
        if (newline != std::string::npos) return block.substr(newline + 1) + tail;
        tail.insert(0, block);
        end = begin;
    }
    return tail;
}

/// How every line begins that `to_json_line` writes.
constexpr std::string_view beginning = "{\"schema\":";

/// How every gzip file begins.
constexpr std::string_view gzip = "\x1f\x8b";

bool is_record_file(std::string_view path) {
    return path.ends_with(".jsonl") || path.ends_with(".jsonl.gz");
}

/// Whether the text can be a record, complete or cut short.
bool begins_like_record(std::string_view text) {
    const std::size_t length = std::min(text.size(), beginning.size());
    return text.substr(0, length) == beginning.substr(0, length);
}

/// Refuses a file that is not ridge's: it has no record near its beginning, or its last line, which
/// would be cut off, is not the start of a record. Damaged lines among records are accepted.
void require_records(int descriptor, std::string_view tail, const std::string& path) {
    std::string head(std::size_t{1} << 16, '\0');
    const ssize_t got = ::pread(descriptor, head.data(), head.size(), 0);
    if (got < 0) throw_system(path, "cannot be read", errno);
    head.resize(static_cast<std::size_t>(got));
    if (head.starts_with(gzip) || head.starts_with("{\"schema\":2")) {
        throw InputError("is a packed file of records and was not changed", {.file = path},
                         "add records to a plain file, or measure into another folder");
    }
    const bool ours =
        begins_like_record(head) || head.find("\n" + std::string(beginning)) != std::string::npos;
    if (ours && begins_like_record(tail)) return;
    throw InputError("is not a file of records and was not changed", {.file = path});
}

bool is_record(const std::string& line) {
    try {
        static_cast<void>(parse_record(line));
        return true;
    } catch (const InputError&) {
        return false;
    }
}

/// Waits for other writers, even after Ctrl-C, so that the finished record is written first.
void lock(int descriptor, const std::string& path) {
    while (::flock(descriptor, LOCK_EX) != 0) {
        if (errno != EINTR) throw_system(path, "cannot be locked", errno);
    }
}

/// 0, or the error that stopped the write.
int write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        if (written == 0) return ENOSPC;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

/// Makes the file's entry in its folder durable.
void sync_folder(const std::string& path) {
    const fs::path parent = fs::path(path).parent_path();
    const Descriptor folder(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY));
    if (folder.number() >= 0) ::fsync(folder.number());
}

/// Adds the lines of a file; `text` keeps what does not end with a newline yet. Returns false when
/// no further line can be read.
bool add_lines(RecordLines& lines, std::string& text) {
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
        if (!lines.add(std::string_view(text).substr(begin, end - begin))) return false;
    }
    text.erase(0, begin);
    return true;
}

/// Limits of a compressed file, in which few bytes can stand for many.
class Unpacked {
  public:
    /// Whether the file may go on after this piece, with this much of a line that is not complete.
    [[nodiscard]] bool allows(std::string_view piece, std::size_t line) {
        constexpr std::size_t longest_line = std::size_t{4} << 20U;
        const auto newlines =
            static_cast<std::size_t>(std::count(piece.begin(), piece.end(), '\n'));
        bytes_ += piece.size() + newlines * bytes_per_record;
        return bytes_ <= most_unpacked_bytes && line <= longest_line;
    }

  private:
    std::size_t bytes_ = 0;
};

}  // namespace

void append_record(const std::string& path, const Record& record) {
    const bool created = !fs::exists(path);
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (file.number() < 0) throw_system(path, "cannot be opened", errno);
    lock(file.number(), path);
    std::int64_t size = size_of_file(file.number(), path);
    const std::string tail = unfinished_tail(file.number(), size, path);
    require_records(file.number(), tail, path);
    const bool finished = !tail.empty() && is_record(tail);
    if (!tail.empty() && !finished) {
        size -= static_cast<std::int64_t>(tail.size());
        if (::ftruncate(file.number(), size) != 0) throw_system(path, "cannot be cut", errno);
    }
    if (::lseek(file.number(), size, SEEK_SET) < 0) throw_system(path, "cannot be written", errno);
    const std::string line = (finished ? "\n" : "") + to_json_line(record) + "\n";
    int error = write_all(file.number(), line);
    if (error == 0 && ::fsync(file.number()) != 0) error = errno;
    if (error != 0) {
        // Best effort: a reader can also handle the incomplete line.
        static_cast<void>(::ftruncate(file.number(), size) == 0);
        throw_system(path, "cannot be written; earlier records are kept", error);
    }
    if (created) sync_folder(path);
}

RecordFile parse_records(std::string_view text, const std::string& file) {
    RecordLines lines(file);
    while (!text.empty()) {
        const std::size_t newline = text.find('\n');
        if (!lines.add(text.substr(0, newline))) break;
        if (newline == std::string_view::npos) break;
        text.remove_prefix(newline + 1);
    }
    return std::move(lines).result();
}

RecordFile read_records(const std::string& path) {
    ByteSource source(path);
    RecordLines lines(path);
    Unpacked unpacked;
    std::string text;
    std::string piece(std::size_t{1} << 15U, '\0');
    while (const std::size_t got = source.read(piece.data(), piece.size())) {
        const std::string_view now(piece.data(), got);
        text += now;
        if (source.compressed() && !unpacked.allows(now, text.size())) {
            lines.end_with(too_large_unpacked());
            return std::move(lines).result();
        }
        if (!add_lines(lines, text)) return std::move(lines).result();
    }
    if (!source.failure().empty()) {
        lines.end_with(source.failure());
    } else if (!text.empty()) {
        lines.add(text);
    }
    return std::move(lines).result();
}

RecordFile read_all_records(const std::vector<std::string>& paths) {
    std::vector<std::string> files;
    for (const std::string& path : paths) {
        if (!fs::is_directory(path)) {
            files.push_back(path);
            continue;
        }
        std::vector<std::string> found;
        std::error_code error;
        for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
            if (is_record_file(entry.path().string())) found.push_back(entry.path().string());
        }
        if (error) throw InputError("cannot list the folder: " + error.message(), {.file = path});
        std::sort(found.begin(), found.end());
        files.insert(files.end(), found.begin(), found.end());
    }
    RecordFile all;
    for (const std::string& file : files) {
        RecordFile part = read_records(file);
        std::move(part.records.begin(), part.records.end(), std::back_inserter(all.records));
        std::move(part.damaged.begin(), part.damaged.end(), std::back_inserter(all.damaged));
    }
    return all;
}

std::string utc_now() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::array<char, 32> text{};
    const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return {text.data(), length};
}

}  // namespace ridge::measure
