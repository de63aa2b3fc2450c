#include "cli/console/progress.h"

#include <ostream>

namespace ridge::cli {

using std::chrono::steady_clock;

Progress::Progress(const Context& context, std::string noun)
    : context_(context), noun_(std::move(noun)), start_(steady_clock::now()), shown_(start_) {}

Progress::~Progress() {
    if (visible_) context_.err << "\r\033[K" << std::flush;
}

void Progress::count(std::int64_t done) {
    constexpr std::int64_t stride = 1024;
    if (!context_.terminal || done % stride != 0) return;
    const steady_clock::time_point now = steady_clock::now();
    if (now - start_ < std::chrono::seconds(1) || now - shown_ < std::chrono::milliseconds(500)) {
        return;
    }
    shown_ = now;
    visible_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    context_.err << "\r\033[K" << done << ' ' << noun_ << ", "
                 << static_cast<std::int64_t>(static_cast<double>(done) / seconds) << " per second"
                 << std::flush;
}

}  // namespace ridge::cli
