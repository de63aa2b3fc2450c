#include "cli/console/child_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace ridge::cli {
namespace {

constexpr std::array passed_on{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

volatile pid_t child = 0;
volatile sig_atomic_t early = 0;  ///< a signal that came before the child's process id was known

/// Passes on signals from processes. The terminal sends its own signals to the child as well.
extern "C" void pass_on(int signal, siginfo_t* info, void* /*context*/) {
    const int saved = errno;
    if (info != nullptr && info->si_code <= 0) {
        if (child > 0) {
            kill(child, signal);
        } else {
            early = signal;
        }
    }
    errno = saved;
}

/// While it lives, catches the signals to pass on.
class PassingOn {
  public:
    PassingOn() {
        early = 0;
        struct sigaction action {};
        action.sa_sigaction = pass_on;
        action.sa_flags = SA_SIGINFO;
        sigemptyset(&action.sa_mask);
        for (std::size_t i = 0; i < passed_on.size(); ++i) {
            sigaction(passed_on[i], nullptr, &old_[i]);
            // A signal that the caller ignores (nohup) stays ignored, in the child too.
            const bool ignored = old_[i].sa_handler == SIG_IGN;
            if (!ignored) sigaction(passed_on[i], &action, nullptr);
        }
    }
    ~PassingOn() {
        for (std::size_t i = 0; i < passed_on.size(); ++i) {
            sigaction(passed_on[i], &old_[i], nullptr);
        }
        child = 0;
    }
    PassingOn(const PassingOn&) = delete;
    PassingOn& operator=(const PassingOn&) = delete;

  private:
    std::array<struct sigaction, passed_on.size()> old_{};
};

std::vector<std::string> environment_with(const Variables& variables) {
    std::vector<std::string> lines;
    for (char** line = environ; *line != nullptr; ++line) {
        const std::string_view text = *line;
        const std::string_view name = text.substr(0, text.find('='));
        const bool replaced = std::any_of(variables.begin(), variables.end(),
                                          [name](const auto& pair) { return pair.first == name; });
        if (!replaced) lines.emplace_back(text);
    }
    for (const auto& [name, value] : variables) {
        lines.emplace_back(name).append(1, '=').append(value);
    }
    return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace

ChildStatus run_child(const std::vector<std::string>& command, const Variables& variables) {
    std::vector<std::string> words = command;
    std::vector<std::string> lines = environment_with(variables);
    const std::vector<char*> arguments = pointers_to(words);
    const std::vector<char*> environment = pointers_to(lines);
    const PassingOn passing;
    pid_t started = 0;
    const int error = posix_spawnp(&started, arguments.front(), nullptr, nullptr, arguments.data(),
                                   environment.data());
    constexpr int no_command = 127;
    constexpr int not_runnable = 126;
    if (error != 0) {
        return {.code = error == ENOENT ? no_command : not_runnable,
                .failure = command.front() + ": " + std::strerror(error)};
    }
    child = started;
    if (early != 0) kill(started, early);
    int status = 0;
    while (waitpid(started, &status, 0) < 0 && errno == EINTR) continue;
    constexpr int signalled = 128;
    return {.code = WIFSIGNALED(status) ? signalled + WTERMSIG(status) : WEXITSTATUS(status)};
}

}  // namespace ridge::cli
