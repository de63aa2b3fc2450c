#include "hardware/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "hardware/error.h"
#include "hardware/input_file.h"

namespace ridge {
namespace {

// zlib returns nothing of a piece that ends in damage, so pieces are small.
constexpr unsigned piece = 1U << 15U;

void require_regular(const std::string& path) {
    require_file(path);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) throw InputError("no such file", {.file = path});
}

}  // namespace

struct ByteSource::File {
    gzFile handle = nullptr;
};

ByteSource::ByteSource(const std::string& path) : file_(std::make_unique<File>()) {
    require_regular(path);
    errno = 0;
    file_->handle = gzopen(path.c_str(), "rb");
    if (file_->handle == nullptr) {
        throw InputError(errno != 0 ? std::strerror(errno) : "cannot be opened", {.file = path});
    }
    gzbuffer(file_->handle, piece);
}

ByteSource::~ByteSource() {
    gzclose(file_->handle);
}

std::string_view ByteSource::peek() {
    if (ahead_.empty()) {
        ahead_.resize(piece);
        ahead_.resize(unpack(ahead_.data(), ahead_.size()));
    }
    return ahead_;
}

std::size_t ByteSource::read(char* buffer, std::size_t size) {
    if (ahead_.empty()) return unpack(buffer, size);
    const std::size_t count = std::min(size, ahead_.size());
    std::copy_n(ahead_.data(), count, buffer);
    ahead_.erase(0, count);
    return count;
}

bool ByteSource::compressed() const {
    return gzdirect(file_->handle) == 0;
}

std::size_t ByteSource::unpack(char* buffer, std::size_t size) {
    if (!failure_.empty()) return 0;
    const auto wanted = static_cast<unsigned>(std::min<std::size_t>(size, piece));
    const int got = gzread(file_->handle, buffer, wanted);
    int code = Z_OK;
    const char* text = gzerror(file_->handle, &code);
    if (code == Z_BUF_ERROR && got > 0) return static_cast<std::size_t>(got);  // more follows
    if (code == Z_BUF_ERROR) {
        failure_ = "the gzip stream ends too early";
    } else if (code == Z_ERRNO) {
        failure_ = std::strerror(errno);
    } else if (code != Z_OK && code != Z_STREAM_END) {
        const std::string_view said = text;  // "FILE: what"
        const std::size_t colon = said.rfind(": ");
        failure_ = "damaged gzip stream (" +
                   std::string(colon == said.npos ? said : said.substr(colon + 2)) + ")";
    }
    return got > 0 ? static_cast<std::size_t>(got) : 0;
}

}  // namespace ridge
