// Ctrl-C during long work: the first one asks to finish the current step, the second one kills.
//
//   const Interruption interruption;             // catches SIGINT and SIGTERM while it lives
//   while (!interruption.requested()) ...
#pragma once

#include <csignal>

namespace ridge::cli {

class Interruption {
  public:
    Interruption();
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    [[nodiscard]] bool requested() const;

  private:
    struct sigaction old_interrupt_ {};
    struct sigaction old_terminate_ {};
};

}  // namespace ridge::cli
