#include <sys/ioctl.h>
#include <unistd.h>

#include <cctype>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/application.h"
#include "cli/console/screen.h"
#include "measure/ranks/serve.h"

namespace {

/// Columns of the terminal on `descriptor`; if there is none, $COLUMNS, else 80.
int terminal_width(int descriptor) {
    winsize size{};
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    const char* columns = std::getenv("COLUMNS");
    int width = 0;
    if (columns != nullptr) std::from_chars(columns, columns + std::strlen(columns), width);
    return width > 0 ? width : 80;
}

bool colour_wanted() {
    const char* no_colour = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
    return isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0') && !dumb;
}

/// Whether the locale uses UTF-8, by the first variable that is set. Otherwise braille characters
/// cannot be shown.
bool utf8_wanted() {
    for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* const value = std::getenv(name);
        if (value == nullptr || *value == '\0') continue;
        std::string locale(value);
        for (char& c : locale) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return locale.find("utf-8") != std::string::npos ||
               locale.find("utf8") != std::string::npos;
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    // A file that may not grow further (ulimit -f) is then an error of its write.
    std::signal(SIGXFSZ, SIG_IGN);
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (!arguments.empty() && arguments.front() == ridge::measure::rank_command) {
        return ridge::measure::serve_rank(std::span(arguments).subspan(1),
                                          ridge::measure::open_rank);
    }
    ridge::cli::Screen screen(*std::cout.rdbuf());
    std::ostream shown(&screen);
    ridge::cli::Screen error_screen(*std::cerr.rdbuf());
    std::ostream shown_errors(&error_screen);
    shown_errors << std::unitbuf;
    const bool errors_on_terminal = isatty(STDERR_FILENO) != 0;
    const ridge::cli::Context context{.in = std::cin,
                                      .out = isatty(STDOUT_FILENO) != 0 ? shown : std::cout,
                                      .err = errors_on_terminal ? shown_errors : std::cerr,
                                      .colour = colour_wanted(),
                                      .terminal = errors_on_terminal,
                                      .piped = isatty(STDOUT_FILENO) == 0,
                                      .width = terminal_width(STDOUT_FILENO),
                                      .utf8 = utf8_wanted()};
    return ridge::cli::run(arguments, context);
}
