// Stands for zlib in the WebAssembly module, which reads only files that are already unpacked: a page
// unpacks gzip files with the browser's DecompressionStream. The functions are those that ridge
// calls, with zlib's names.
#pragma once

#include <cstddef>
#include <cstdio>

enum : int { Z_OK = 0, Z_STREAM_END = 1, Z_ERRNO = -1, Z_BUF_ERROR = -5 };

using gzFile = std::FILE*;

inline gzFile gzopen(const char* path, const char* mode) {
    return std::fopen(path, mode);
}

inline int gzbuffer(gzFile /*file*/, unsigned /*size*/) {
    return 0;
}

/// Whether the bytes are those of the file.
inline int gzdirect(gzFile /*file*/) {
    return 1;
}

inline int gzread(gzFile file, void* buffer, unsigned size) {
    const std::size_t got = std::fread(buffer, 1, size, file);
    return got == 0 && std::ferror(file) != 0 ? -1 : static_cast<int>(got);
}

inline const char* gzerror(gzFile file, int* code) {
    *code = std::ferror(file) != 0 ? Z_ERRNO : Z_OK;
    return "";
}

inline int gzclose(gzFile file) {
    return std::fclose(file) == 0 ? Z_OK : Z_ERRNO;
}
