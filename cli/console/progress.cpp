#include "cli/console/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

namespace ridge::cli {
namespace {

std::string amount(const measure::SuiteProgress& progress) {
    std::string text = fmt::format("{}/{}", progress.done, progress.total);
    if (progress.seconds_left) {
        text += fmt::format(", {:.0f} s left", std::ceil(*progress.seconds_left));
    }
    return text;
}

std::string bar_line(const measure::SuiteProgress& progress, int width) {
    constexpr std::int64_t bar_width = 20;
    const std::int64_t filled =
        progress.total > 0 ? progress.done * bar_width / progress.total : bar_width;
    std::string line = fmt::format("[{}{}] {}", std::string(static_cast<std::size_t>(filled), '#'),
                                   std::string(static_cast<std::size_t>(bar_width - filled), '.'),
                                   amount(progress));
    if (!progress.current.empty()) line += "  " + progress.current;
    return line.substr(0, static_cast<std::size_t>(std::max(20, width - 1)));
}

}  // namespace

using std::chrono::steady_clock;

Progress::Progress(const Context& context, std::string noun, std::int64_t stride)
    : context_(context),
      noun_(std::move(noun)),
      start_(steady_clock::now()),
      shown_(start_),
      stride_(stride) {}

Progress::~Progress() {
    if (visible_) context_.err << "\r\033[K" << std::flush;
}

void Progress::count(std::int64_t done) {
    if (!context_.terminal || done % stride_ != 0) return;
    const steady_clock::time_point now = steady_clock::now();
    if (now - start_ < std::chrono::seconds(1) || now - shown_ < std::chrono::milliseconds(500)) {
        return;
    }
    shown_ = now;
    visible_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    context_.err << "\r\033[K" << done << ' ' << noun_;
    const auto rate = static_cast<std::int64_t>(static_cast<double>(done) / seconds);
    if (rate > 0) context_.err << ", " << rate << " per second";
    if (!step_.empty()) {
        context_.err << ", now " << step_;
    } else if (share_ > 0.0) {
        context_.err << fmt::format(", {:.0f} %, about {:.0f} s left", 100.0 * share_,
                                    std::ceil(seconds * (1.0 - share_) / share_));
    }
    context_.err << std::flush;
}

std::function<void(const measure::SuiteProgress&)> suite_progress(const Context& context) {
    if (context.terminal) {
        return [&context](const measure::SuiteProgress& progress) {
            context.err << "\r\033[K" << bar_line(progress, context.width) << std::flush;
        };
    }
    return [&context, next = 10.0](const measure::SuiteProgress& progress) mutable {
        constexpr double interval = 10.0;
        if (progress.seconds < next) return;
        next = progress.seconds + interval;
        context.err << amount(progress) << '\n' << std::flush;
    };
}

}  // namespace ridge::cli
