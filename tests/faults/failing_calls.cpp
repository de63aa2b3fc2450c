// A library for LD_PRELOAD that makes chosen system calls fail as they do on broken or full disks.
//
//   RIDGE_FAULT=write:ENOSPC:3 RIDGE_FAULT_PATH=/tmp/x LD_PRELOAD=libfailing_calls.so program ...
//
// With ENOSPC the third `write` (or `writev`) to a file whose path contains RIDGE_FAULT_PATH writes
// half of its bytes, and all later ones fail. With EIO the third one fails too. With KILL the
// program dies by SIGKILL in the middle of the third call. The calls are write, read (or pread64),
// fsync, ftruncate and rename; each kind is counted separately. RIDGE_FAULT_LOG names a file that
// gets one letter per fault, so that the caller sees whether a run ended without a fault.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

enum class Effect { none, io_error, full, kill };

struct Plan {
    std::string call;
    Effect effect = Effect::none;
    long at = 0;
    std::string path;
    long seen = 0;
};

Plan read_plan() {
    Plan plan;
    const char* const text = std::getenv("RIDGE_FAULT");
    const char* const path = std::getenv("RIDGE_FAULT_PATH");
    if (text == nullptr || path == nullptr) return plan;
    const std::string words = text;
    const std::size_t first = words.find(':');
    const std::size_t second = words.find(':', first + 1);
    if (second == std::string::npos) return plan;
    const std::string effect = words.substr(first + 1, second - first - 1);
    plan.call = words.substr(0, first);
    plan.effect = effect == "EIO"    ? Effect::io_error
                  : effect == "KILL" ? Effect::kill
                                     : Effect::full;
    plan.at = std::strtol(words.c_str() + second + 1, nullptr, 10);
    plan.path = path;
    return plan;
}

Plan& plan() {
    static Plan value = read_plan();
    return value;
}

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_watched(std::string_view path) {
    return !plan().path.empty() && path.find(plan().path) != std::string_view::npos;
}

bool is_watched(int descriptor) {
    if (plan().effect == Effect::none) return false;
    std::array<char, 4096> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    return length > 0 &&
           is_watched(std::string_view(path.data(), static_cast<std::size_t>(length)));
}

void log_fault() {
    const char* const path = std::getenv("RIDGE_FAULT_LOG");
    if (path == nullptr) return;
    const int log =
        next<int(const char*, int, ...)>("open")(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (log < 0) return;
    static_cast<void>(next<ssize_t(int, const void*, std::size_t)>("write")(log, "x", 1) == 1);
    ::close(log);
}

/// The outcome of this call.
struct Fate {
    Effect effect = Effect::none;
    bool first = false;  ///< whether it is the first call that fails
};

Fate fate_of(std::string_view call) {
    if (plan().call != call) return {};
    ++plan().seen;
    if (plan().seen < plan().at) return {};
    const bool first = plan().seen == plan().at;
    // An interrupted read or a failed rename happens once; a disk stays full or broken.
    if (!first && call != "write") return {};
    log_fault();
    return {plan().effect, first};
}

int fail(const Fate& fate) {
    if (fate.effect == Effect::kill) std::raise(SIGKILL);
    errno = fate.effect == Effect::io_error ? EIO : ENOSPC;
    return -1;
}

/// Carries out the write: whole, half, or not at all.
template <class Write>
ssize_t write_some(int descriptor, const void* bytes, std::size_t size, Write&& write) {
    if (!is_watched(descriptor)) return write(bytes, size);
    const Fate fate = fate_of("write");
    if (fate.effect == Effect::none) return write(bytes, size);
    const bool half = fate.first && fate.effect != Effect::io_error && size > 1;
    if (half) {
        const ssize_t written = write(bytes, size / 2);
        if (fate.effect == Effect::full) return written;
    }
    return fail(fate);
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
    return write_some(descriptor, bytes, size, [descriptor](const void* from, std::size_t count) {
        return next<ssize_t(int, const void*, std::size_t)>("write")(descriptor, from, count);
    });
}

ssize_t writev(int descriptor, const struct iovec* parts, int count) {
    if (!is_watched(descriptor)) {
        return next<ssize_t(int, const struct iovec*, int)>("writev")(descriptor, parts, count);
    }
    std::string joined;
    for (int i = 0; i < count; ++i) {
        joined.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    }
    return write(descriptor, joined.data(), joined.size());
}

ssize_t read(int descriptor, void* bytes, size_t size) {
    if (is_watched(descriptor)) {
        if (const Fate fate = fate_of("read"); fate.effect != Effect::none) return fail(fate);
    }
    return next<ssize_t(int, void*, std::size_t)>("read")(descriptor, bytes, size);
}

ssize_t pread64(int descriptor, void* bytes, size_t size, off64_t at) {
    if (is_watched(descriptor)) {
        if (const Fate fate = fate_of("read"); fate.effect != Effect::none) return fail(fate);
    }
    return next<ssize_t(int, void*, std::size_t, off64_t)>("pread64")(descriptor, bytes, size, at);
}

int fsync(int descriptor) {
    if (is_watched(descriptor)) {
        if (const Fate fate = fate_of("fsync"); fate.effect != Effect::none) return fail(fate);
    }
    return next<int(int)>("fsync")(descriptor);
}

int ftruncate(int descriptor, off_t size) noexcept {
    if (is_watched(descriptor)) {
        if (const Fate fate = fate_of("ftruncate"); fate.effect != Effect::none) return fail(fate);
    }
    return next<int(int, off_t)>("ftruncate")(descriptor, size);
}

int rename(const char* from, const char* to) noexcept {
    if (is_watched(std::string_view(from))) {
        if (const Fate fate = fate_of("rename"); fate.effect != Effect::none) return fail(fate);
    }
    return next<int(const char*, const char*)>("rename")(from, to);
}

}  // extern "C"
