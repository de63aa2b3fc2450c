#include "measure/cuda/inject/signals.h"

#include <array>
#include <csignal>

#include "measure/cuda/inject/session.h"

namespace ridge::measure::cuda {
namespace {

extern "C" void write_and_raise(int signal) {
    Session::instance().write_before_signal();
    std::signal(signal, SIG_DFL);
    // Blocked until this handler returns; a fault happens again by itself.
    raise(signal);
}

}  // namespace

void catch_fatal_signals() {
    constexpr std::array signals{SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
                                 SIGABRT, SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGXCPU};
    for (const int signal : signals) {
        struct sigaction old {};
        if (sigaction(signal, nullptr, &old) != 0) continue;
        const bool plain = (old.sa_flags & SA_SIGINFO) == 0 && old.sa_handler == SIG_DFL;
        if (!plain) continue;
        struct sigaction ours {};
        ours.sa_handler = write_and_raise;
        sigemptyset(&ours.sa_mask);
        sigaction(signal, &ours, nullptr);
    }
}

}  // namespace ridge::measure::cuda
