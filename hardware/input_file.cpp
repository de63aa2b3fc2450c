#include "hardware/input_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "hardware/error.h"

namespace ridge {
namespace {

namespace fs = std::filesystem;

/// The system's description of the last failure, if it has one.
std::string reason(int code) {
    return code == 0 ? std::string() : ": " + std::generic_category().message(code);
}

}  // namespace

void require_file(const std::string& path, Pipes pipes) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) throw InputError("is a folder, not a file", {.file = path});
    if (fs::is_fifo(status) && pipes == Pipes::refused) {
        throw InputError("is a pipe, not a file", {.file = path},
                         "write its output to a file first");
    }
    if (fs::is_character_file(status) || fs::is_block_file(status) || fs::is_socket(status)) {
        throw InputError("is a device, not a file", {.file = path});
    }
}

std::unique_ptr<std::istream> open_input(const std::string& path, Pipes pipes) {
    require_file(path, pipes);
    errno = 0;
    auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (!*file) throw InputError("cannot open the file" + reason(errno), {.file = path});
    return file;
}

std::string read_input(const std::string& path, std::size_t longest) {
    constexpr std::size_t chunk = std::size_t{1} << 20;
    const auto stream = open_input(path);
    std::string text;
    while (*stream) {
        const std::size_t kept = text.size();
        text.resize(kept + chunk);
        errno = 0;
        stream->read(text.data() + kept, static_cast<std::streamsize>(chunk));
        if (stream->bad()) throw InputError("cannot read the file" + reason(errno), {.file = path});
        text.resize(kept + static_cast<std::size_t>(stream->gcount()));
        if (text.size() > longest) {
            throw InputError("the file is larger than " + std::to_string(longest >> 20U) + " MiB",
                             {.file = path});
        }
    }
    return text;
}

}  // namespace ridge
