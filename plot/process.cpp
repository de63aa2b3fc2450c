#include "plot/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>

namespace ridge::plot {

namespace {

[[noreturn]] void fail(const char* call) {
    throw std::system_error(errno, std::generic_category(), call);
}

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor() { close(); }

    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] bool is_open() const { return fd_ >= 0; }

  private:
    int fd_;
};

/// Two connected sockets: the parent's end and the child's end. With sockets, unlike pipes, a write
/// to a child that has exited returns an error instead of raising SIGPIPE.
struct Channel {
    Descriptor ours;
    Descriptor theirs;
};

Channel open_channel() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("socketpair");
    return {.ours = Descriptor(ends[0]), .theirs = Descriptor(ends[1])};
}

class FileActions {
  public:
    FileActions() { posix_spawn_file_actions_init(&actions_); }
    FileActions(const FileActions&) = delete;
    FileActions& operator=(const FileActions&) = delete;
    ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }

    void redirect(const Descriptor& from, int to) {
        posix_spawn_file_actions_adddup2(&actions_, from.fd(), to);
    }
    [[nodiscard]] const posix_spawn_file_actions_t* list() const { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_{};
};

/// Appends what can be read; false at the end of the stream.
bool drain(const Descriptor& from, std::string& into) {
    std::array<char, 16384> buffer{};
    const ssize_t count = ::read(from.fd(), buffer.data(), buffer.size());
    if (count > 0) into.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
}

/// Sends the front of `input`; false if nothing is left or nobody reads.
bool feed(const Descriptor& to, std::string_view& input) {
    const ssize_t count = ::send(to.fd(), input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    input.remove_prefix(static_cast<std::size_t>(count));
    return !input.empty();
}

void converse(Descriptor& in, Descriptor& out, Descriptor& err, std::string_view input,
              ProcessResult& result) {
    if (input.empty()) in.close();
    while (out.is_open() || err.is_open()) {
        // A negative descriptor is ignored by poll.
        std::array<pollfd, 3> waiting = {{{.fd = in.fd(), .events = POLLOUT, .revents = 0},
                                          {.fd = out.fd(), .events = POLLIN, .revents = 0},
                                          {.fd = err.fd(), .events = POLLIN, .revents = 0}}};
        if (::poll(waiting.data(), waiting.size(), -1) < 0) {
            if (errno == EINTR) continue;
            fail("poll");
        }
        if (waiting[0].revents != 0 && !feed(in, input)) in.close();
        if (waiting[1].revents != 0 && !drain(out, result.output)) out.close();
        if (waiting[2].revents != 0 && !drain(err, result.errors)) err.close();
    }
}

int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) fail("waitpid");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, std::string_view input) {
    Channel in = open_channel();
    Channel out = open_channel();
    Channel err = open_channel();
    FileActions actions;
    actions.redirect(in.theirs, STDIN_FILENO);
    actions.redirect(out.theirs, STDOUT_FILENO);
    actions.redirect(err.theirs, STDERR_FILENO);
    std::vector<std::string> owned = arguments;
    std::vector<char*> argv;
    argv.reserve(owned.size() + 1);
    for (std::string& argument : owned) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    const int code = posix_spawnp(&child, argv[0], actions.list(), nullptr, argv.data(), environ);
    ProcessResult result;
    if (code != 0) return result;
    result.started = true;
    in.theirs.close();
    out.theirs.close();
    err.theirs.close();
    converse(in.ours, out.ours, err.ours, input, result);
    result.exit_code = wait_for(child);
    return result;
}

}  // namespace ridge::plot
