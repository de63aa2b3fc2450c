// libFuzzer: any words on the command line give an exit code that ridge documents and, in errors
// and on a terminal, text without control characters; never a crash, a hang or an internal error.
//
// The input is one word per line; the lines after an empty one are standard input. Words that would
// write files or measure are skipped. The output takes 64 KiB and then fails, like a full disk.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/application.h"
#include "cli/console/screen.h"
#include "tests/fuzz/require.h"
#include "tests/support/faulty_streams.h"

using ridge::test::require;

namespace {

struct Words {
    std::vector<std::string> arguments;
    std::string input;
};

Words words_of(std::string_view text) {
    Words words;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.empty()) {
            words.input = text;
            return words;
        }
        words.arguments.emplace_back(line);
    }
    return words;
}

/// Whether the text has no control characters but line breaks, tabs, and bold or plain letters.
bool is_plain(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto letter = static_cast<unsigned char>(text[at]);
        if (text.substr(at, 4) == "\x1b[1m" || text.substr(at, 4) == "\x1b[0m") continue;
        if ((letter < ' ' && letter != '\n' && letter != '\t') || letter == 0x7f) return false;
    }
    return true;
}

/// Whether the words neither read nor write files and cannot run long by design.
bool may_run(const Words& words) {
    for (const std::string& word : words.arguments) {
        for (const char* part : {"-o", "--o", "measure", "calibrate", "fit", "--jobs", "/", ".."}) {
            if (word.find(part) != std::string::npos) return false;
        }
        // A range is a product of points, so at most six digits keep a run short.
        std::size_t digits = 0;
        for (const char c : word) digits += c >= '0' && c <= '9' ? 1U : 0U;
        if (word.find(':') != std::string::npos && digits > 6) return false;
    }
    return words.arguments.size() <= 24;
}

}  // namespace

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t longest_input = 2048;
    if (size > longest_input) return 0;
    const Words words = words_of({reinterpret_cast<const char*>(data), size});
    if (!may_run(words)) return 0;
    std::istringstream in(words.input);
    ridge::test::FullDisk disk(65536);
    std::ostream out(&disk);
    std::ostringstream err;
    const int code = ridge::cli::run(words.arguments, {.in = in, .out = out, .err = err});
    require(code >= 0 && code <= 4);
    const std::string errors = err.str();
    require(is_plain(errors));
    require(errors.find('\x1b') == std::string::npos);
    require(is_plain(ridge::cli::shown_on_screen(disk.kept)));
    return 0;
}
