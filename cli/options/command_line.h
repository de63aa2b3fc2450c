// The options of a command: declared once, then parsed, printed as help, and listed.
//
// A thin layer over CLI11. Only command_line.cpp includes CLI11, because its headers take longer to
// compile than all of a command's own code.
//
//   CommandLine line("ridge sweep", "Predict over ranges of shapes");
//   line.option("--y", y, "what the chart shows").one_of({"rate", "time"});
//   line.flag("--ascii", ascii, "draw with ASCII characters only");
//   const ParseResult result = line.parse(arguments);     // fills y and ascii
//
// Names may be written with '_' for '-', counts as 1e5, 4_096 or 16Ki. An argument that cannot be
// placed is an error that names the nearest option.
//
// What is bound (`y`, `ascii`) must live until `parse` has returned. A `CommandLine` and an
// `Option` are handles: a copy refers to the same command.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ridge::cli {

/// An option that was just declared; its functions add details.
class Option {
  public:
    explicit Option(CLI::Option* option) : option_(option) {}

    /// The word that stands for the value in the help: FILE, COUNT.
    Option& value(std::string_view word);
    /// The heading under which the help lists it.
    Option& group(std::string_view heading);
    Option& required();
    /// May be repeated: the texts become a list with commas.
    Option& joined();
    Option& one_of(const std::vector<std::string>& words);
    /// One of the words, or a list of them with commas.
    Option& words(const std::vector<std::string>& words);
    Option& in_range(std::int32_t first, std::int32_t last);
    Option& in_range(std::uint64_t first, std::uint64_t last);
    Option& in_range(double first, double last);
    Option& not_negative();
    /// InputError if given together with `other`.
    Option& excludes(const Option& other);

  private:
    CLI::Option* option_;
};

/// An option as help, completions and the man page list it.
struct OptionInfo {
    std::vector<std::string> names;  ///< "-o", "--output"; the word itself for a positional one
    bool positional = false;
    std::string value;  ///< empty for a flag
    std::string help;
    std::string group;
    bool required = false;
    std::vector<std::string> words{};  ///< allowed values; empty if any is allowed
};

enum class Parsed : std::uint8_t { command, help, error };

struct ParseResult {
    Parsed what = Parsed::command;
    std::string text{};  ///< the help that was asked for, or what is wrong
};

class CommandLine {
  public:
    CommandLine(std::string_view name, std::string_view description);

    /// `names` are separated by commas: "-o,--output".
    Option option(std::string_view names, std::string& value, std::string_view help);
    Option option(std::string_view names, std::vector<std::string>& values, std::string_view help);
    Option option(std::string_view names, std::int32_t& value, std::string_view help);
    Option option(std::string_view names, std::int64_t& value, std::string_view help);
    Option option(std::string_view names, std::uint64_t& value, std::string_view help);
    Option option(std::string_view names, double& value, std::string_view help);
    Option option(std::string_view names, std::optional<double>& value, std::string_view help);

    /// Arguments without a name, in the order in which they are declared.
    Option positional(std::string_view name, std::string& value, std::string_view help);
    Option positional(std::string_view name, std::vector<std::string>& values,
                      std::string_view help);

    Option flag(std::string_view names, bool& set, std::string_view help);
    /// A flag that may also be given a value, `--paged=0`: the text is "true" without one.
    Option flag(std::string_view names, std::string& text, std::string_view help);
    /// A flag that is short for another option with a value: --json for --format json.
    Option shorthand(std::string_view names, std::string& value, std::string_view set_to,
                     std::string_view help);
    void version(std::string_view text);

    CommandLine subcommand(std::string_view name, std::string_view description);
    /// How many subcommands must and may be named.
    void require_subcommands(std::size_t least, std::size_t most);
    /// Options that this subcommand does not have are looked up in its parent.
    void fall_through();

    /// What the help ends with.
    void footer(std::string_view text);

    [[nodiscard]] ParseResult parse(std::span<const std::string> arguments);
    /// Whether the arguments named this subcommand.
    [[nodiscard]] bool parsed() const;

    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::string description() const;
    [[nodiscard]] std::string footer() const;
    [[nodiscard]] std::string help() const;
    [[nodiscard]] std::vector<OptionInfo> options() const;
    [[nodiscard]] std::vector<CommandLine> subcommands() const;

  private:
    explicit CommandLine(std::shared_ptr<CLI::App> app) : app_(std::move(app)) {}

    std::shared_ptr<CLI::App> app_;
};

}  // namespace ridge::cli
