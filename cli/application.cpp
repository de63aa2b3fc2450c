#include "cli/application.h"

#include <exception>
#include <filesystem>
#include <new>
#include <ostream>
#include <string_view>
#include <system_error>

#include "cli/commands/commands.h"
#include "cli/console/decimal_note.h"
#include "cli/console/table.h"
#include "cli/console/used_files.h"
#include "cli/console/version.h"
#include "cli/input/model_input.h"
#include "cli/options/command_line.h"
#include "cli/options/synonyms.h"
#include "hardware/error.h"
#include "hardware/error_field.h"
#include "hardware/nearest.h"
#include "model/catalogue/catalogue.h"

namespace ridge::cli {
namespace {

constexpr std::string_view program_footer =
    "Examples:\n"
    "  ridge plan llama-3.1-70b --gpu h100\n"
    "  ridge diagnose times.csv --gpu h100\n"
    "  ridge predict matmul --m 4096 --n 4096 --k 4096 --gpu h100-sxm\n"
    "  ridge roofline --gpu h200 --op \"matmul m=4096 n=4096 k=4096\" -o roofline.html\n"
    "ridge help COMMAND shows options and examples.\n"
    "Exit codes: 0 fine, 1 usage, 2 bad input, 3 device, 4 bound exceeded,\n"
    "70 internal, 130 interrupted.";

const CommandInfo* find_command(std::string_view name) {
    for (const CommandInfo& command : command_table()) {
        if (command.name == name) return &command;
    }
    return nullptr;
}

/// What a word is that is not a command: a model, an operation, nearly one of them, or nearly a
/// command.
std::string unknown_command(const std::string& name) {
    if (const std::string meant = command_for(name); !meant.empty()) return meant;
    if (const std::string meant = command_meant_by(name); !meant.empty()) {
        return "unknown command '" + name + "'; try " + meant;
    }
    std::vector<std::string> names;
    for (const CommandInfo& command : command_table()) names.emplace_back(command.name);
    const std::string near = nearest(name, names);
    if (near.empty()) {
        if (const std::string meant = command_near(name); !meant.empty()) return meant;
    }
    return "unknown command '" + name + "'" +
           (near.empty() ? "" : "; did you mean '" + near + "'?");
}

int run_command(const CommandInfo& command, std::span<const std::string> arguments,
                const Context& context) {
    CommandLine line("ridge " + std::string(command.name), command.help);
    const Action action = command.build(line, arguments);
    const ParseResult parsed = line.parse(arguments);
    if (parsed.what == Parsed::help) {
        context.out << parsed.text << '\n';
        return success;
    }
    if (parsed.what == Parsed::error) {
        context.err << "ridge " << command.name << ": " << printable(parsed.text) << "\n"
                    << "try: ridge " << command.name << " --help\n";
        return usage;
    }
    write_decimal_note(context, arguments);
    return action(context);
}

/// `ridge help predict matmul`: the help of `ridge predict matmul`.
int help_of(std::span<const std::string> words, const Context& context) {
    const CommandInfo* command = find_command(words.front());
    if (command == nullptr) {
        context.err << "ridge: " << printable(unknown_command(words.front()))
                    << "\ntry: ridge --help\n";
        return usage;
    }
    std::vector<std::string> arguments(words.begin() + 1, words.end());
    arguments.emplace_back("--help");
    return run_command(*command, arguments, context);
}

int dispatch(std::span<const std::string> arguments, const Context& context) {
    if (arguments.empty()) {
        context.err << program().help() << '\n';
        return usage;
    }
    const std::string& first = arguments.front();
    if (first == "help" && arguments.size() > 1) return help_of(arguments.subspan(1), context);
    if (first == "--help" || first == "-h" || first == "help") {
        context.out << program().help() << '\n';
        return success;
    }
    if (first == "--version") {
        context.out << "ridge " << version << '\n';
        return success;
    }
    const CommandInfo* command = find_command(first);
    if (command == nullptr) {
        context.err << "ridge: " << printable(unknown_command(first)) << "\ntry: ridge --help\n";
        return usage;
    }
    return run_command(*command, arguments.subspan(1), context);
}

}  // namespace

CommandLine program() {
    CommandLine line("ridge", "Models GPU performance and checks itself against the hardware.");
    line.footer(program_footer);
    line.version(version);
    for (const CommandInfo& command : command_table()) line.subcommand(command.name, command.help);
    return line;
}

namespace {

/// Runs the command with an output that names the user's own files that it rests on.
int dispatch_noting_files(std::span<const std::string> arguments, const Context& context) {
    const std::string folder = model::user_folder();
    std::error_code ignored;
    if (folder.empty() || !std::filesystem::is_directory(folder, ignored)) {
        return dispatch(arguments, context);
    }
    UsedFiles used(folder);
    NotedOutput noted(*context.out.rdbuf(), used, note_form(arguments));
    std::ostream out(&noted);
    const Context inner{.in = context.in,
                        .out = out,
                        .err = context.err,
                        .colour = context.colour,
                        .terminal = context.terminal,
                        .piped = context.piped,
                        .width = context.width,
                        .utf8 = context.utf8,
                        .open_device = context.open_device,
                        .kept_machines = context.kept_machines,
                        .used_files = &used,
                        .wrong_field = context.wrong_field,
                        .open_group = context.open_group,
                        .device_count = context.device_count,
                        .topology = context.topology,
                        .survey_links = context.survey_links};
    const int code = dispatch(arguments, inner);
    out.flush();
    if (!out) context.out.setstate(std::ios::badbit);
    return code;
}

}  // namespace

int run(std::span<const std::string> arguments, const Context& context) {
    try {
        const int code = dispatch_noting_files(arguments, context);
        context.out.flush();
        if (!context.out) {
            context.err << "ridge: cannot write the output\n";
            return bad_data;
        }
        return code;
    } catch (const InputError& error) {
        if (context.wrong_field != nullptr) *context.wrong_field = field_of(error);
        context.err << "ridge: " << printable(error.what()) << '\n';
        return error.location().file.empty() ? usage : bad_data;
    } catch (const DeviceError& error) {
        context.err << "ridge: " << printable(error.what()) << '\n';
        return device_failure;
    } catch (const std::filesystem::filesystem_error& error) {
        context.err << "ridge: " << printable(error.path1().string()) << ": "
                    << error.code().message() << '\n';
        return bad_data;
    } catch (const std::bad_alloc&) {
        context.err << "ridge: not enough memory for this\n";
        return bad_data;
    } catch (const std::exception& error) {
        context.err << "ridge: internal error: " << printable(error.what()) << '\n';
        return internal;
    }
}

}  // namespace ridge::cli
