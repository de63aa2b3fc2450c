// `ridge completions`: shell completions, made from the commands' own options.
#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <set>

#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"

namespace ridge::cli {
namespace {

/// What may follow a command: its options and its words (operations or subcommands).
struct Words {
    std::set<std::string> options;
    std::set<std::string> words;
};

/// Values of an option; an empty command or operation matches any.
struct Values {
    std::string command;
    std::string operation;
    std::string option;
    std::vector<std::string> words;
};

struct Program {
    std::map<std::string, Words> commands;
    std::vector<Values> values;       ///< one entry per command, operation and option
    std::set<std::string> for_files;  ///< options whose value is a path
};

/// The words of the operation's field that has this option.
std::vector<std::string> field_words(const std::string& operation, const std::string& option) {
    if (operation.empty() || option.rfind("--", 0) != 0) return {};
    std::string name = option.substr(2);
    std::replace(name.begin(), name.end(), '-', '_');
    const auto field = model::find_field(name);
    if (!field) return {};
    std::vector<std::string> words;
    for (const model::OperationInfo& info : model::operation_table()) {
        if (info.name != operation) continue;  // a subcommand has no fields
        for (const std::string_view word : words_of(info, *field)) words.emplace_back(word);
    }
    return words;
}

std::vector<std::string> gpu_names() {
    std::vector<std::string> names;
    for (const model::CatalogueEntry& entry : model::catalogue().entries()) {
        names.push_back(entry.name);
    }
    return names;
}

void collect(const CommandLine& line, const std::string& command, const std::string& operation,
             Program& program) {
    Words& words = program.commands[command];
    for (const OptionInfo& option : line.options()) {
        if (option.positional) {
            words.words.insert(option.words.begin(), option.words.end());
            continue;
        }
        words.options.insert(option.names.begin(), option.names.end());
        for (const std::string& name : option.names) {
            if (option.value == "FILE" || option.value == "PATH") program.for_files.insert(name);
            std::vector<std::string> known = option.words;
            if (known.empty()) known = field_words(operation, name);
            if (!known.empty()) program.values.push_back({command, operation, name, known});
        }
    }
    for (const CommandLine& subcommand : line.subcommands()) {
        words.words.insert(subcommand.name());
        collect(subcommand, command, subcommand.name(), program);
    }
}

/// Merges values that are the same for several operations or commands.
std::vector<Values> merged(const std::vector<Values>& values) {
    std::map<std::string, std::set<std::vector<std::string>>> by_option;
    std::map<std::pair<std::string, std::string>, std::set<std::vector<std::string>>> by_operation;
    for (const Values& each : values) {
        by_option[each.option].insert(each.words);
        by_operation[{each.operation, each.option}].insert(each.words);
    }
    std::vector<Values> result;
    std::set<std::vector<std::string>> seen;
    for (Values each : values) {
        if (by_operation[{each.operation, each.option}].size() == 1) each.command.clear();
        if (by_option[each.option].size() == 1) each.operation.clear();
        if (by_option[each.option].size() == 1) each.command.clear();
        if (seen.insert({each.command, each.operation, each.option}).second) {
            result.push_back(std::move(each));
        }
    }
    return result;
}

/// Every command with the options of all its operations.
Program whole_program() {
    Program program;
    for (const CommandInfo& command : command_table()) {
        const std::string name(command.name);
        CommandLine plain(command.name, command.help);
        static_cast<void>(command.build(plain, {}));
        collect(plain, name, "", program);
        const std::vector<OptionInfo> options = plain.options();
        const bool takes_operation =
            std::any_of(options.begin(), options.end(), [](const OptionInfo& option) {
                return option.positional && option.names.front() == "op";
            });
        if (name == "vram") {
            const std::vector<std::string> arguments{"kv-cache"};
            CommandLine line(command.name, command.help);
            static_cast<void>(command.build(line, arguments));
            collect(line, name, arguments.front(), program);
            program.commands[name].words.insert(arguments.front());
        }
        if (!takes_operation) continue;
        for (const model::OperationInfo& operation : model::operation_table()) {
            const std::vector<std::string> arguments{std::string(operation.name)};
            CommandLine line(command.name, command.help);
            static_cast<void>(command.build(line, arguments));
            collect(line, name, arguments.front(), program);
            program.commands[name].words.insert(arguments.front());
        }
    }
    program.values = merged(program.values);
    program.values.push_back({"", "", "--gpu", gpu_names()});
    return program;
}

template <class List>
std::string joined(const List& words, const char* separator = " ") {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
    return text;
}

std::string or_any(const std::string& word) {
    return word.empty() ? "*" : word;
}

/// The cases of bash and zsh: command, operation and the option before the cursor.
template <class Offer>
void write_cases(std::ostream& out, const Program& program, const Offer& offer, const char* files) {
    for (const Values& each : program.values) {
        out << "    " << or_any(each.command) << ':' << or_any(each.operation) << ':' << each.option
            << ") " << offer(joined(each.words)) << "; return ;;\n";
    }
    out << "    gpus:show:show) " << offer(joined(gpu_names())) << "; return ;;\n";
    out << "    *:*:" << joined(program.for_files, "|*:*:") << "|*:*:check) " << files
        << "; return ;;\n";
}

void write_bash(std::ostream& out, const Program& program) {
    std::set<std::string> names;
    for (const auto& [name, words] : program.commands) names.insert(name);
    const auto offer = [](const std::string& words) { return "_ridge_offer \"" + words + "\""; };
    // A list is completed after its last comma.
    out << "# bash completion of ridge: source <(ridge completions bash)\n"
           "_ridge_offer() {\n"
           "  local before=\"\"\n"
           "  if [[ $word == *,* ]]; then before=\"${word%,*},\"; fi\n"
           "  COMPREPLY=($(compgen -P \"$before\" -W \"$1\" -- \"${word##*,}\"))\n"
           "}\n"
           "_ridge() {\n"
           "  local word=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
           "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    "
        << offer(joined(names) + " --help --version")
        << "\n    return\n  fi\n"
           "  case \"${COMP_WORDS[1]}:${COMP_WORDS[2]}:$previous\" in\n";
    write_cases(out, program, offer, "COMPREPLY=($(compgen -f -- \"$word\"))");
    out << "  esac\n  case \"${COMP_WORDS[1]}\" in\n";
    for (const auto& [name, words] : program.commands) {
        out << "    " << name << ") " << offer(joined(words.words) + ' ' + joined(words.options))
            << " ;;\n";
    }
    out << "  esac\n}\ncomplete -F _ridge ridge\n";
}

void write_zsh(std::ostream& out, const Program& program) {
    out << "#compdef ridge\n# zsh completion of ridge: ridge completions zsh > "
           "\"${fpath[1]}/_ridge\"\n"
           "_ridge_offer() { compset -P '*,'; compadd -- \"$@\"; }\n"
           "_ridge() {\n"
           "  if (( CURRENT == 2 )); then\n"
           "    compadd --";
    for (const auto& [name, words] : program.commands) out << ' ' << name;
    out << " --help --version\n    return\n  fi\n"
           "  case \"$words[2]:$words[3]:$words[CURRENT-1]\" in\n";
    const auto offer = [](const std::string& words) { return "_ridge_offer " + words; };
    write_cases(out, program, offer, "_files");
    out << "  esac\n  case \"$words[2]\" in\n";
    for (const auto& [name, words] : program.commands) {
        out << "    " << name << ") " << offer(joined(words.words) + ' ' + joined(words.options))
            << " ;;\n";
    }
    out << "  esac\n}\ncompdef _ridge ridge 2>/dev/null\n";
}

/// The text as fish escapes it inside single quotes.
std::string quoted(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '\'' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

std::string fish_option(const std::string& option) {
    const bool is_long = option.rfind("--", 0) == 0;
    return (is_long ? " -l " : " -s ") + option.substr(is_long ? 2 : 1);
}

void write_fish(std::ostream& out, const Program& program) {
    out << "# fish completion of ridge: ridge completions fish > "
           "~/.config/fish/completions/ridge.fish\n"
           "function __ridge_offer\n"
           "  set -l before (string match -r '.*,' -- (commandline -ct))\n"
           "  for word in $argv\n"
           "    echo \"$before$word\"\n"
           "  end\n"
           "end\n"
           "complete -c ridge -n __fish_use_subcommand -f\n";
    for (const CommandInfo& command : command_table()) {
        out << "complete -c ridge -n __fish_use_subcommand -a " << command.name << " -d '"
            << quoted(command.help) << "'\n";
    }
    std::set<std::string> with_values;
    for (const Values& each : program.values) with_values.insert(each.option);
    for (const auto& [name, words] : program.commands) {
        const std::string condition = "'__fish_seen_subcommand_from " + name + "'";
        if (!words.words.empty()) {
            out << "complete -c ridge -f -n " << condition << " -a '" << joined(words.words)
                << "'\n";
        }
        for (const std::string& option : words.options) {
            out << "complete -c ridge -n " << condition << fish_option(option)
                << (with_values.contains(option) ? " -x" : "") << '\n';
        }
    }
    for (const Values& each : program.values) {
        std::string condition;
        for (const std::string& seen : {each.command, each.operation}) {
            if (seen.empty()) continue;
            condition +=
                (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + seen);
        }
        out << "complete -c ridge" << (condition.empty() ? "" : " -n '" + condition + "'")
            << fish_option(each.option) << " -x -a '(__ridge_offer " << joined(each.words)
            << ")'\n";
    }
    out << "complete -c ridge -n '__fish_seen_subcommand_from gpus; and "
           "__fish_seen_subcommand_from "
           "show' -f -a '"
        << joined(gpu_names()) << "'\n";
}

}  // namespace

Action build_completions(CommandLine& line, std::span<const std::string>) {
    const auto shell = std::make_shared<std::string>();
    line.positional("shell", *shell, "bash, zsh or fish")
        .required()
        .one_of({"bash", "zsh", "fish"});
    line.footer("Example:\n  source <(ridge completions bash)");
    return [shell](const Context& context) {
        const Program program = whole_program();
        if (*shell == "bash") write_bash(context.out, program);
        if (*shell == "zsh") write_zsh(context.out, program);
        if (*shell == "fish") write_fish(context.out, program);
        return success;
    };
}

}  // namespace ridge::cli
