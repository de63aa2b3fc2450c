#include "cli/application.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <memory>
#include <ostream>
#include <sstream>
#include <string_view>

#include "cli/commands/commands.h"
#include "cli/version.h"
#include "cli/views/table.h"
#include "hardware/error.h"
#include "hardware/nearest.h"

namespace ridge::cli {
namespace {

constexpr std::string_view program_footer =
    "Examples:\n"
    "  ridge predict matmul --m 4096 --n 4096 --k 4096 --gpu h100-sxm\n"
    "  ridge vram attention --seq 131072 --heads 32 --head-dim 128 --impl standard\n"
    "  ridge roofline --gpu h200-sxm --op \"matmul m=4096 n=4096 k=4096\" -o roofline.html\n"
    "Exit codes: 0 fine, 1 usage, 2 bad input, 3 device, 4 bound exceeded, 70 internal,\n"
    "130 interrupted.";

/// CLI11's help with descriptions broken to fit 80 columns.
class HelpFormatter : public CLI::Formatter {
  public:
    HelpFormatter() { column_width(names_width); }

    std::string make_option_desc(const CLI::Option* option) const override {
        return broken(CLI::Formatter::make_option_desc(option));
    }
    std::string make_subcommand(const CLI::App* subcommand) const override {
        std::stringstream out;
        CLI::detail::format_help(out, subcommand->get_name(), broken(subcommand->get_description()),
                                 names_width);
        return out.str();
    }

  private:
    static constexpr std::size_t names_width = 28;

    /// The formatter indents what follows a line break itself.
    static std::string broken(const std::string& text) { return wrap(text, 80 - names_width, 0); }
};

const CommandInfo* find_command(std::string_view name) {
    for (const CommandInfo& command : command_table()) {
        if (command.name == name) return &command;
    }
    return nullptr;
}

std::string unknown_command(const std::string& name) {
    std::vector<std::string> names;
    for (const CommandInfo& command : command_table()) names.emplace_back(command.name);
    const std::string near = nearest(name, names);
    return "unknown command '" + name + "'" +
           (near.empty() ? "" : "; did you mean '" + near + "'?");
}

int show_program_help(std::ostream& out) {
    CLI::App app("Models GPU performance and checks itself against the hardware.", "ridge");
    app.formatter(std::make_shared<HelpFormatter>());
    app.footer(std::string(program_footer));
    app.set_version_flag("--version", std::string(version));
    for (const CommandInfo& command : command_table()) {
        app.add_subcommand(std::string(command.name), std::string(command.help));
    }
    out << app.help() << '\n';
    return success;
}

int run_command(const CommandInfo& command, std::span<const std::string> arguments,
                const Context& context) {
    CLI::App app(std::string(command.help), "ridge " + std::string(command.name));
    app.formatter(std::make_shared<HelpFormatter>());
    const Action action = command.build(app, arguments);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        app.parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
        context.out << app.help() << '\n';
        return success;
    } catch (const CLI::ParseError& error) {
        context.err << "ridge " << command.name << ": " << error.what() << "\n"
                    << "try: ridge " << command.name << " --help\n";
        return usage;
    }
    return action(context);
}

int dispatch(std::span<const std::string> arguments, const Context& context) {
    if (arguments.empty()) {
        show_program_help(context.err);
        return usage;
    }
    const std::string& first = arguments.front();
    if (first == "--help" || first == "-h" || first == "help") {
        return show_program_help(context.out);
    }
    if (first == "--version") {
        context.out << "ridge " << version << '\n';
        return success;
    }
    const CommandInfo* command = find_command(first);
    if (command == nullptr) {
        context.err << "ridge: " << unknown_command(first) << "\ntry: ridge --help\n";
        return usage;
    }
    return run_command(*command, arguments.subspan(1), context);
}

}  // namespace

int run(std::span<const std::string> arguments, const Context& context) {
    try {
        const int code = dispatch(arguments, context);
        context.out.flush();
        if (!context.out) {
            context.err << "ridge: cannot write the output\n";
            return bad_data;
        }
        return code;
    } catch (const InputError& error) {
        context.err << "ridge: " << error.what() << '\n';
        return error.location().file.empty() ? usage : bad_data;
    } catch (const DeviceError& error) {
        context.err << "ridge: " << error.what() << '\n';
        return device_failure;
    } catch (const std::exception& error) {
        context.err << "ridge: internal error: " << error.what() << '\n';
        return internal;
    }
}

}  // namespace ridge::cli
