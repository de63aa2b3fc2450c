// `ridge explore`: opens the explorer, the page in which all of ridge can be asked.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>

#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "hardware/error.h"
#include "plot/process.h"

namespace ridge::cli {
namespace {

struct ExploreOptions {
    bool print = false;
};

/// $RIDGE_EXPLORER, or the page installed with this program, or the one that scripts/explorer built.
std::filesystem::path explorer_page() {
    std::error_code error;
    const char* const chosen = std::getenv("RIDGE_EXPLORER");
    if (chosen != nullptr && *chosen != '\0') {
        if (std::filesystem::is_regular_file(chosen, error)) return chosen;
        throw InputError("no such file", {.file = chosen}, "RIDGE_EXPLORER names it");
    }
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto folder = program.parent_path();
    for (const char* const place :
         {"../share/ridge/explorer.html", "explorer.html", "../wasm/explorer.html"}) {
        auto page = (folder / place).lexically_normal();
        if (std::filesystem::is_regular_file(page, error)) return page;
    }
    throw InputError("explorer.html is not installed", {.file = "explorer.html"},
                     "the packages and the wheel hold it; from a clone, run scripts/explorer");
}

bool open_page(const std::string& address) {
    for (const char* const opener : {"xdg-open", "open"}) {
        const plot::ProcessResult result = plot::run_process({opener, address}, "");
        if (result.started && result.exit_code == 0) return true;
    }
    return false;
}

}  // namespace

Action build_explore(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<ExploreOptions>();
    line.flag("--print", options->print, "print the file's name instead of opening it");
    line.footer(
        "The explorer is one file that works offline. Every chart and table in it has\n"
        "the command that gives the same answer here.\n"
        "Examples:\n"
        "  ridge explore\n"
        "  cp \"$(ridge explore --print)\" shared/");
    return [options](const Context& context) {
        const std::string page = explorer_page().string();
        if (options->print || !open_page(page)) {
            context.out << page << '\n';
            return success;
        }
        context.err << "opened " << page << '\n';
        return success;
    };
}

}  // namespace ridge::cli
