#include "cli/console/screen.h"

#include "cli/console/table.h"

namespace ridge::cli {
namespace {

/// Length of ridge's own sequence (bold, plain, cleared line) at the start of the text; else 0.
std::size_t own_length(std::string_view text) {
    for (const std::string_view own : {"\033[1m", "\033[0m", "\r\033[K"}) {
        if (text.starts_with(own)) return own.size();
    }
    return 0;
}

}  // namespace

std::string shown_on_screen(std::string_view line) {
    std::string shown;
    while (!line.empty()) {
        const std::size_t own = own_length(line);
        shown += line.substr(0, own);
        line.remove_prefix(own);
        std::size_t end = line.find_first_of("\033\r");
        while (end != line.npos && own_length(line.substr(end)) == 0) {
            end = line.find_first_of("\033\r", end + 1);
        }
        shown += printable(line.substr(0, end));
        line.remove_prefix(end == line.npos ? line.size() : end);
    }
    return shown;
}

Screen::~Screen() {
    Screen::sync();
}

Screen::int_type Screen::overflow(int_type letter) {
    if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
    const char written = traits_type::to_char_type(letter);
    return xsputn(&written, 1) == 1 ? letter : traits_type::eof();
}

std::streamsize Screen::xsputn(const char* text, std::streamsize size) {
    line_.append(text, static_cast<std::size_t>(size));
    if (line_.find('\n') == std::string::npos) return size;
    return pass_on() ? size : 0;
}

/// Passes on whole lines; the rest waits for its line break.
bool Screen::pass_on() {
    const std::size_t end = line_.rfind('\n') + 1;
    const std::string shown = shown_on_screen(std::string_view(line_).substr(0, end));
    line_.erase(0, end);
    const auto size = static_cast<std::streamsize>(shown.size());
    return terminal_.sputn(shown.data(), size) == size;
}

int Screen::sync() {
    const std::string shown = shown_on_screen(line_);
    line_.clear();
    const auto size = static_cast<std::streamsize>(shown.size());
    return terminal_.sputn(shown.data(), size) == size ? terminal_.pubsync() : -1;
}

}  // namespace ridge::cli
