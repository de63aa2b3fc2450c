#include "cli/console/interruption.h"

namespace ridge::cli {
namespace {

volatile sig_atomic_t signalled = 0;

extern "C" void note_signal(int) {
    signalled = 1;
}

}  // namespace

Interruption::Interruption() {
    signalled = 0;
    struct sigaction action {};
    action.sa_handler = note_signal;
    // The handler runs once: a second Ctrl-C ends the program as usual.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &old_interrupt_);
    sigaction(SIGTERM, &action, &old_terminate_);
}

Interruption::~Interruption() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool Interruption::requested() const {
    return signalled != 0;
}

}  // namespace ridge::cli
