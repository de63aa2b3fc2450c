#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <set>

#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "model/core/fields.h"
#include "model/machine/catalogue.h"

namespace ridge::cli {
namespace {

/// What may follow a command: its options and its words (operations or subcommands).
struct Words {
    std::set<std::string> options;
    std::set<std::string> words;
};

void collect(const CommandLine& line, Words& words) {
    for (const OptionInfo& option : line.options()) {
        if (!option.positional) words.options.insert(option.names.begin(), option.names.end());
    }
    for (const CommandLine& subcommand : line.subcommands()) {
        words.words.insert(subcommand.name());
        collect(subcommand, words);
    }
}

/// Every command with the options of all its operations.
std::map<std::string, Words> all_words() {
    std::map<std::string, Words> commands;
    for (const CommandInfo& command : command_table()) {
        Words& words = commands[std::string(command.name)];
        CommandLine plain(command.name, command.help);
        static_cast<void>(command.build(plain, {}));
        collect(plain, words);
        const std::vector<OptionInfo> options = plain.options();
        const bool takes_operation =
            std::any_of(options.begin(), options.end(), [](const OptionInfo& option) {
                return option.positional && option.names.front() == "op";
            });
        if (!takes_operation) continue;
        for (const model::OperationInfo& operation : model::operation_table()) {
            const std::vector<std::string> arguments{std::string(operation.name)};
            CommandLine line(command.name, command.help);
            static_cast<void>(command.build(line, arguments));
            collect(line, words);
            words.words.insert(arguments.front());
        }
    }
    return commands;
}

std::string joined(const std::set<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

std::string gpu_names() {
    std::string names;
    for (const hardware::CatalogueEntry& entry : model::catalogue().entries()) {
        names += (names.empty() ? "" : " ") + entry.name;
    }
    return names;
}

void write_bash(std::ostream& out, const std::map<std::string, Words>& commands) {
    std::string names;
    for (const auto& [name, words] : commands) names += (names.empty() ? "" : " ") + name;
    out << "# bash completion of ridge: source <(ridge completions bash)\n"
           "_ridge() {\n"
           "  local word=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
           "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "    COMPREPLY=($(compgen -W \""
        << names
        << " --help --version\" -- \"$word\"))\n"
           "    return\n"
           "  fi\n"
           "  case \"$previous\" in\n"
           "    --gpu) COMPREPLY=($(compgen -W \""
        << gpu_names()
        << "\" -- \"$word\")); return ;;\n"
           "    --from|--gpu-file|--records|-o|check) COMPREPLY=($(compgen -f -- \"$word\")); "
           "return ;;\n"
           "  esac\n"
           "  case \"${COMP_WORDS[1]}\" in\n";
    for (const auto& [name, words] : commands) {
        out << "    " << name << ") COMPREPLY=($(compgen -W \"" << joined(words.words) << ' '
            << joined(words.options) << "\" -- \"$word\")) ;;\n";
    }
    out << "  esac\n}\ncomplete -F _ridge ridge\n";
}

void write_zsh(std::ostream& out, const std::map<std::string, Words>& commands) {
    out << "#compdef ridge\n# zsh completion of ridge: ridge completions zsh > "
           "\"${fpath[1]}/_ridge\"\n"
           "_ridge() {\n"
           "  if (( CURRENT == 2 )); then\n"
           "    compadd --";
    for (const auto& [name, words] : commands) out << ' ' << name;
    out << " --help --version\n    return\n  fi\n"
           "  case \"$words[CURRENT-1]\" in\n"
           "    --gpu) compadd -- "
        << gpu_names()
        << "; return ;;\n"
           "    --from|--gpu-file|--records|-o|check) _files; return ;;\n"
           "  esac\n"
           "  case \"$words[2]\" in\n";
    for (const auto& [name, words] : commands) {
        out << "    " << name << ") compadd -- " << joined(words.words) << ' '
            << joined(words.options) << " ;;\n";
    }
    out << "  esac\n}\ncompdef _ridge ridge 2>/dev/null\n";
}

/// The inside of a text in single quotes, as fish escapes it.
std::string quoted(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '\'' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

void write_fish(std::ostream& out, const std::map<std::string, Words>& commands) {
    out << "# fish completion of ridge: ridge completions fish > "
           "~/.config/fish/completions/ridge.fish\n"
           "complete -c ridge -n __fish_use_subcommand -f\n";
    for (const CommandInfo& command : command_table()) {
        out << "complete -c ridge -n __fish_use_subcommand -a " << command.name << " -d '"
            << quoted(command.help) << "'\n";
    }
    for (const auto& [name, words] : commands) {
        const std::string condition = "'__fish_seen_subcommand_from " + name + "'";
        if (!words.words.empty()) {
            out << "complete -c ridge -f -n " << condition << " -a '" << joined(words.words)
                << "'\n";
        }
        for (const std::string& option : words.options) {
            const bool is_long = option.rfind("--", 0) == 0;
            out << "complete -c ridge -n " << condition << (is_long ? " -l " : " -s ")
                << option.substr(is_long ? 2 : 1);
            if (option == "--gpu") out << " -x -a '" << gpu_names() << "'";
            out << '\n';
        }
    }
}

}  // namespace

Action build_completions(CommandLine& line, std::span<const std::string>) {
    const auto shell = std::make_shared<std::string>();
    line.positional("shell", *shell, "bash, zsh or fish")
        .required()
        .one_of({"bash", "zsh", "fish"});
    line.footer("Example:\n  source <(ridge completions bash)");
    return [shell](const Context& context) {
        const std::map<std::string, Words> commands = all_words();
        if (*shell == "bash") write_bash(context.out, commands);
        if (*shell == "zsh") write_zsh(context.out, commands);
        if (*shell == "fish") write_fish(context.out, commands);
        return success;
    };
}

}  // namespace ridge::cli
