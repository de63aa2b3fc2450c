// Runs the program in-process, with arguments and standard input. Returns the exit code and both
// outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include "cli/application.h"

namespace ridge::test {

struct Transcript {
    int code = 0;
    std::string out;
    std::string err;
};

inline Transcript run(const std::vector<std::string>& arguments, const std::string& input = {}) {
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    const cli::Context context{.in = in, .out = out, .err = err};
    const int code = cli::run(arguments, context);
    return {code, out.str(), err.str()};
}

/// Splits a line into words as a shell does: at spaces, except within "..." and '...'.
inline std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    char quote = '\0';
    bool open = false;
    for (const char c : line) {
        if (quote != '\0') {
            if (c == quote) {
                quote = '\0';
            } else {
                word += c;
            }
        } else if (c == '"' || c == '\'') {
            quote = c;
            open = true;
        } else if (c == ' ') {
            if (open || !word.empty()) words.push_back(word);
            word.clear();
            open = false;
        } else {
            word += c;
            open = true;
        }
    }
    if (open || !word.empty()) words.push_back(word);
    return words;
}

inline Transcript run_line(const std::string& line, const std::string& input = {}) {
    return run(words_of(line), input);
}

/// Width of the longest line of a UTF-8 text, in columns.
inline std::size_t longest_line(const std::string& text) {
    std::size_t longest = 0;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        std::size_t width = 0;
        for (const char c : line)
            width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1U : 0U;
        longest = std::max(longest, width);
    }
    return longest;
}

}  // namespace ridge::test
