#include "measure/ranks/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto nap = std::chrono::milliseconds(5);

void write_all(int channel, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t sent = ::send(channel, text.data() + done, text.size() - done, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) throw DeviceError(std::string("channel is closed: ") + std::strerror(errno));
        done += static_cast<std::size_t>(sent);
    }
}

bool take_line(std::string& pending, std::string& line) {
    const std::size_t end = pending.find('\n');
    if (end == std::string::npos) return false;
    line = pending.substr(0, end);
    pending.erase(0, end + 1);
    return true;
}

/// Appends what has arrived; 0 at the end of the stream.
ssize_t receive_some(int channel, std::string& pending) {
    std::array<char, 65536> bytes{};
    ssize_t got = -1;
    do {
        got = ::recv(channel, bytes.data(), bytes.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got > 0) pending.append(bytes.data(), static_cast<std::size_t>(got));
    return got;
}

/// "rank 0 and rank 1 did not answer within 60 s".
std::string silent(std::span<const Child> children, const std::vector<bool>& answered,
                   double seconds) {
    std::string names;
    for (std::size_t i = 0; i < children.size(); ++i) {
        if (!answered[i]) names += (names.empty() ? "" : " and ") + children[i].name();
    }
    return fmt::format("{} did not answer within {:g} s", names, seconds);
}

/// What runs in the child between fork and exec; only calls that are safe there.
[[noreturn]] void become(char* const* command, char* const* environment, int channel) {
    setpgid(0, 0);
    if (channel == rank_channel) {
        fcntl(channel, F_SETFD, 0);
    } else {
        dup2(channel, rank_channel);
    }
    execve(command[0], command, environment);
    constexpr int not_started = 127;
    _exit(not_started);
}

/// Pointers to the texts, with the null pointer that ends such a list.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// The environment with some settings replaced.
std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
    std::vector<std::string> variables = settings;
    for (char** each = environ; *each != nullptr; ++each) {
        const std::string_view variable = *each;
        const std::string_view name = variable.substr(0, variable.find('=') + 1);
        const bool replaced =
            std::any_of(settings.begin(), settings.end(),
                        [name](const std::string& setting) { return setting.starts_with(name); });
        if (!replaced) variables.emplace_back(variable);
    }
    return variables;
}

}  // namespace

Child Child::start(const std::vector<std::string>& command, std::string name,
                   const std::vector<std::string>& settings) {
    RIDGE_CONTRACT(!command.empty());
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw DeviceError(name + " cannot start: " + std::strerror(errno));
    }
    std::vector<std::string> words = command;
    std::vector<std::string> variables = environment_with(settings);
    const std::vector<char*> pointers = pointers_to(words);
    const std::vector<char*> environment = pointers_to(variables);
    const pid_t process = fork();
    if (process == 0) become(pointers.data(), environment.data(), ends[1]);
    const int reason = errno;
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        throw DeviceError(name + " cannot start: " + std::strerror(reason));
    }
    return {static_cast<int>(process), ends[0], std::move(name)};
}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      channel_(std::exchange(other.channel_, -1)),
      name_(std::move(other.name_)),
      pending_(std::move(other.pending_)) {}

Child& Child::operator=(Child&& other) noexcept {
    if (this == &other) return *this;
    kill();
    process_ = std::exchange(other.process_, -1);
    channel_ = std::exchange(other.channel_, -1);
    name_ = std::move(other.name_);
    pending_ = std::move(other.pending_);
    return *this;
}

Child::~Child() {
    kill();
}

void Child::kill() {
    hang_up();
    if (process_ <= 0) return;
    // The whole group: the child may have started helpers of its own.
    ::kill(-process_, SIGKILL);
    ::kill(process_, SIGKILL);
    waitpid(std::exchange(process_, -1), nullptr, 0);
}

std::string Child::how_it_ended() {
    // The channel closes a moment before the process can be waited for.
    constexpr int most_naps = 200;
    int status = 0;
    pid_t ended = 0;
    for (int i = 0; i < most_naps && ended == 0; ++i) {
        ended = waitpid(process_, &status, WNOHANG);
        if (ended == 0) std::this_thread::sleep_for(nap);
    }
    if (ended != process_) return "closed its channel";
    process_ = -1;
    if (WIFSIGNALED(status)) {
        return std::string("was ended by signal ") + std::to_string(WTERMSIG(status)) + " (" +
               strsignal(WTERMSIG(status)) + ")";
    }
    return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

void Child::send(const std::string& line) {
    try {
        write_all(channel_, line + '\n');
    } catch (const DeviceError&) {
        throw DeviceError(name_ + " " + how_it_ended());
    }
}

void Child::receive_all(std::span<Child> children, double seconds,
                        const std::function<void(std::size_t, const std::string&)>& take) {
    const auto limit = Clock::now() + std::chrono::duration<double>(seconds);
    std::vector<bool> answered(children.size(), false);
    std::string line;
    while (std::find(answered.begin(), answered.end(), false) != answered.end()) {
        const std::chrono::duration<double> left = limit - Clock::now();
        if (left.count() <= 0.0) throw DeviceError(silent(children, answered, seconds));
        std::vector<pollfd> waiting;
        for (const Child& child : children) {
            waiting.push_back({.fd = child.channel_, .events = POLLIN, .revents = 0});
        }
        constexpr double millisecond = 1e-3;
        const auto patience = static_cast<int>(left.count() / millisecond) + 1;
        if (poll(waiting.data(), waiting.size(), patience) <= 0) continue;
        for (std::size_t i = 0; i < children.size(); ++i) {
            if (waiting[i].revents == 0) continue;
            Child& child = children[i];
            if (receive_some(child.channel_, child.pending_) <= 0) {
                throw DeviceError(child.name_ + " " + child.how_it_ended());
            }
            if (!take_line(child.pending_, line)) continue;
            answered[i] = true;
            take(i, line);
        }
    }
}

void Child::hang_up() {
    if (channel_ >= 0) close(std::exchange(channel_, -1));
}

void Child::finish(double seconds) {
    if (process_ <= 0) return;
    const auto limit = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < limit) {
        if (waitpid(process_, nullptr, WNOHANG) != 0) {
            process_ = -1;
            return;
        }
        std::this_thread::sleep_for(nap);
    }
    kill();
}

bool read_line(int channel, std::string& pending, std::string& line) {
    while (!take_line(pending, line)) {
        if (receive_some(channel, pending) <= 0) return false;
    }
    return true;
}

void write_line(int channel, const std::string& line) {
    write_all(channel, line + '\n');
}

bool end_with_parent() {
    const pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return parent != 1 && getppid() == parent;
}

}  // namespace ridge::measure
