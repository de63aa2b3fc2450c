#include "hardware/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <random>
#include <system_error>

namespace ridge {
namespace {

namespace fs = std::filesystem;

std::string text_of_error(int code) {
    return std::generic_category().message(code);
}

/// A file descriptor; closed at the end.
class OpenFile {
  public:
    explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    [[nodiscard]] int descriptor() const { return descriptor_; }

    /// 0, or the error of closing, which some file systems use to report a failed write.
    [[nodiscard]] int close() {
        const int result = ::close(descriptor_);
        descriptor_ = -1;
        return result == 0 ? 0 : errno;
    }

  private:
    int descriptor_;
};

/// 0, or the error that stopped the writing.
int write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

/// Where links from `path` end; the file there need not exist. An error for a loop of links.
fs::path end_of_links(const fs::path& path, std::error_code& error) {
    constexpr int most_links = 40;  // as the kernel allows
    fs::path at = path;
    for (int i = 0; i < most_links; ++i) {
        const fs::file_status found = fs::symlink_status(at, error);
        if (!fs::is_symlink(found)) {
            if (found.type() == fs::file_type::not_found) error.clear();
            return at;
        }
        const fs::path target = fs::read_symlink(at, error);
        if (error) return at;
        at = target.is_absolute() ? target : at.parent_path() / target;
    }
    error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
    return at;
}

std::string random_word() {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
    static thread_local std::mt19937_64 draw(std::random_device{}() ^
                                             static_cast<std::uint64_t>(::getpid()));
    std::string word;
    for (int i = 0; i < 8; ++i) word += letters[draw() % letters.size()];
    return word;
}

/// A name in the folder of `file` that starts like it, if a file name may be that long.
fs::path name_beside(const fs::path& file) {
    constexpr std::size_t longest = 255;
    const std::string ending = "." + random_word() + ".part";
    std::string name = file.filename().string();
    if (name.size() + ending.size() > longest) name = ".ridge";
    return file.parent_path() / (name + ending);
}

/// Creates a file that did not exist; its path is in `made`. -1 with errno if that fails.
int create_beside(const fs::path& file, fs::path& made) {
    constexpr int most_tries = 100;
    int descriptor = -1;
    for (int i = 0; i < most_tries; ++i) {
        made = name_beside(file);
        descriptor =
            ::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST) break;
    }
    return descriptor;
}

/// Writes to what is no file. Waits for a slow reader, but not for one that may never come.
std::string write_directly(const fs::path& path, std::string_view bytes) {
    OpenFile out(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (out.descriptor() < 0) {
        return errno == ENXIO ? "nothing reads this pipe" : text_of_error(errno);
    }
    const int flags = ::fcntl(out.descriptor(), F_GETFL);
    if (flags >= 0) ::fcntl(out.descriptor(), F_SETFL, flags & ~O_NONBLOCK);
    if (const int error = write_all(out.descriptor(), bytes); error != 0) {
        return text_of_error(error);
    }
    const int error = out.close();
    return error == 0 ? std::string() : text_of_error(error);
}

/// Flushes a folder, so that a new name in it survives a loss of power. File systems that cannot
/// do that keep the old name or the new one all the same.
void flush_folder(const fs::path& folder) {
    const OpenFile opened(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.descriptor() >= 0) static_cast<void>(::fsync(opened.descriptor()));
}

}  // namespace

std::string replace_file(const std::string& path, std::string_view bytes) {
    std::error_code error;
    const fs::path file = end_of_links(path, error);
    if (error) return error.message();
    struct stat old {};
    const bool exists = ::stat(file.c_str(), &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) return text_of_error(EISDIR);
    if (exists && !S_ISREG(old.st_mode)) return write_directly(file, bytes);
    fs::path made;
    OpenFile out(create_beside(file, made));
    if (out.descriptor() < 0) return text_of_error(errno);
    constexpr mode_t permissions = 07777;
    int failed = 0;
    if (exists && ::fchmod(out.descriptor(), old.st_mode & permissions) != 0) failed = errno;
    if (failed == 0) failed = write_all(out.descriptor(), bytes);
    if (failed == 0 && ::fsync(out.descriptor()) != 0) failed = errno;
    if (const int closed = out.close(); failed == 0) failed = closed;
    if (failed == 0 && ::rename(made.c_str(), file.c_str()) != 0) failed = errno;
    if (failed != 0) {
        ::unlink(made.c_str());
        return text_of_error(failed);
    }
    flush_folder(file.parent_path());
    return {};
}

}  // namespace ridge
