#include "cli/manual.h"

#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/console/version.h"
#include "cli/options/command_line.h"
#include "model/core/fields.h"

namespace ridge::cli {
namespace {

/// Escapes text so that troff prints it unchanged: hyphens stay ASCII, no line begins a request.
std::string escaped(std::string_view text) {
    std::string result;
    bool line_begins = true;
    for (const char c : text) {
        if (line_begins && (c == '.' || c == '\'')) result += "\\&";
        line_begins = c == '\n';
        switch (c) {
            case '\\':
                result += "\\e";
                break;
            case '-':
                result += "\\-";
                break;
            case '\'':
                result += "\\(aq";
                break;
            case '^':
                result += "\\(ha";
                break;
            case '~':
                result += "\\(ti";
                break;
            case '`':
                result += "\\(ga";
                break;
            default:
                result += c;
        }
    }
    return result;
}

/// Quotes an argument of a request.
std::string in_quotes(std::string_view text) {
    std::string result = "\"";
    for (const char c : escaped(text)) {
        if (c == '"') {
            result += "\\(dq";
        } else {
            result += c;
        }
    }
    return result + '"';
}

std::string names_of(const OptionInfo& option) {
    std::string names;
    for (const std::string& name : option.names) {
        names += (names.empty() ? "" : ", ") + ("\\fB" + escaped(name) + "\\fR");
    }
    if (!option.value.empty() && !option.positional) {
        // "FORMAT:{table,json}": the help lists the words.
        names += " \\fI" + escaped(option.value.substr(0, option.value.find(':'))) + "\\fR";
    }
    return names;
}

/// Writes the options of `line` whose names are not yet in `written`, and adds them to it.
void write_options(std::ostream& out, const CommandLine& line, std::set<std::string>& written) {
    for (const OptionInfo& option : line.options()) {
        if (!written.insert(option.names.back()).second) continue;
        out << ".TP\n"
            << names_of(option) << '\n'
            << escaped(option.help) << (option.required ? " (required)" : "") << '\n';
    }
}

void write_footer(std::ostream& out, const std::string& footer) {
    if (footer.empty()) return;
    out << ".PP\n.nf\n" << escaped(footer) << "\n.fi\n";
}

/// The subcommands below a command: `ridge vram attention`, `ridge gpus show`.
void write_subcommands(std::ostream& out, const CommandLine& parent, const std::string& name) {
    for (const CommandLine& line : parent.subcommands()) {
        const std::string full_name = name + ' ' + line.name();
        out << ".SS " << in_quotes(full_name) << '\n' << escaped(line.description()) << '\n';
        std::set<std::string> written;
        write_options(out, line, written);
        write_footer(out, line.footer());
        write_subcommands(out, line, full_name);
    }
}

/// Writes the options that each operation adds to those of the command.
void write_operations(std::ostream& out, const CommandInfo& command,
                      const std::set<std::string>& common) {
    for (const model::OperationInfo& operation : model::operation_table()) {
        const std::vector<std::string> arguments{std::string(operation.name)};
        CommandLine line(command.name, command.help);
        static_cast<void>(command.build(line, arguments));
        out << ".SS " << in_quotes("ridge " + std::string(command.name) + ' ' + arguments.front())
            << '\n';
        out << "Besides the options of \\fBridge " << escaped(command.name) << "\\fR:\n";
        std::set<std::string> written = common;
        write_options(out, line, written);
    }
}

void write_command(std::ostream& out, const CommandInfo& command) {
    CommandLine line(command.name, command.help);
    static_cast<void>(command.build(line, {}));
    const std::string name = "ridge " + std::string(command.name);
    out << ".SS " << in_quotes(name) << '\n' << escaped(command.help) << ".\n";
    std::set<std::string> written;
    write_options(out, line, written);
    write_footer(out, line.footer());
    write_subcommands(out, line, name);
    const std::vector<OptionInfo> options = line.options();
    const bool takes_operation = std::any_of(
        options.begin(), options.end(),
        [](const OptionInfo& option) { return option.positional && option.names.front() == "op"; });
    if (takes_operation) write_operations(out, command, written);
}

}  // namespace

void write_manual(std::ostream& out) {
    const CommandLine line = program();
    out << ".\\\" Written from the program's own tables of commands and options.\n"
        << ".TH RIDGE 1 \"\" " << in_quotes("ridge " + std::string(version))
        << " \"User Commands\"\n"
        << ".ad l\n.SH NAME\nridge \\- model GPU performance and check it against the hardware\n"
        << ".SH SYNOPSIS\n\\fBridge\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR ...]\n"
        << ".SH DESCRIPTION\n"
        << escaped(line.description()) << "\n.SH OPTIONS\n";
    std::set<std::string> written;
    write_options(out, line, written);
    write_footer(out, line.footer());
    out << ".SH COMMANDS\n";
    for (const CommandInfo& command : command_table()) write_command(out, command);
}

}  // namespace ridge::cli
