#include "cli/options/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>

#include "cli/console/table.h"
#include "cli/options/synonyms.h"
#include "hardware/count.h"
#include "hardware/nearest.h"

namespace ridge::cli {
namespace {

/// CLI11's help with descriptions broken to fit 80 columns.
class HelpFormatter : public CLI::Formatter {
  public:
    HelpFormatter() { column_width(names_width); }

    /// Without what the option excludes, which CLI11 lists by address: in another order each time.
    std::string make_option_opts(const CLI::Option* option) const override {
        const std::string text = CLI::Formatter::make_option_opts(option);
        return text.substr(0, text.find(" " + get_label("Excludes") + ":"));
    }
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

template <class T>
Option bound(CLI::App& app, std::string_view names, T& value, std::string_view help) {
    return Option(app.add_option(std::string(names), value, std::string(help)));
}

/// Binds a count, which may be written 1e5, 4_096 or 16Ki.
template <class T>
Option bound_count(CLI::App& app, std::string_view names, T& value, std::string_view help) {
    const auto in_digits = [](std::string& text) {
        if (const auto count = read_count(text)) text = std::to_string(count->value);
        return std::string();
    };
    CLI::Option* const option = app.add_option(std::string(names), value, std::string(help));
    option->transform(CLI::Validator(in_digits, std::string(), "count"));
    return Option(option);
}

/// Writes an option as options are declared: "--head_dim=4" becomes "--head-dim=4".
std::string with_dashes(std::string argument) {
    if (!argument.starts_with("--")) return argument;
    const auto end = argument.begin() +
                     static_cast<std::ptrdiff_t>(std::min(argument.find('='), argument.size()));
    std::replace(argument.begin() + 2, end, '_', '-');
    return argument;
}

/// Adds the names of the options that the parser knows, including those of named subcommands.
void add_option_names(const CLI::App& app, std::vector<std::string>& names) {
    for (const CLI::Option* const option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    for (const CLI::App* const child : app.get_subcommands()) add_option_names(*child, names);
}

/// "; did you mean '--m 4096'?" for "m=4096" if there is such an option.
std::string as_option(const std::string& argument, const std::vector<std::string>& names) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) return {};
    std::string name = "--" + argument.substr(0, equals);
    std::replace(name.begin(), name.end(), '_', '-');
    if (std::find(names.begin(), names.end(), name) == names.end()) return {};
    return "; did you mean '" + name + " " + argument.substr(equals + 1) + "'?";
}

/// A hint if the argument looks like the value of a flag.
std::string as_value_of_flag(std::string_view argument) {
    constexpr std::array<std::string_view, 8> values{"true", "false", "yes", "no",
                                                     "on",   "off",   "1",   "0"};
    const bool is_value = std::find(values.begin(), values.end(), argument) != values.end();
    return is_value ? "; a flag has no value or takes it after '=', as in --causal=true" : "";
}

/// A hint if the argument looks like a size, as in "4096" and "4096x4096", and sizes are options.
std::string as_size(const std::string& argument, const std::vector<std::string>& names) {
    if (argument.size() < 2 || argument.find_first_not_of("0123456789x,") != std::string::npos) {
        return {};
    }
    for (const char* const size : {"--m", "--rows", "--elements", "--seq", "--bytes"}) {
        if (std::find(names.begin(), names.end(), size) == names.end()) continue;
        return std::string("; each size is an option, as ") + size + " 4096";
    }
    return {};
}

/// "; did you mean 'show h100'?" if there is such a subcommand.
std::string as_shown(const CLI::App& app, const std::string& argument) {
    const auto shows = [](const CLI::App* child) { return child->get_name() == "show"; };
    if (app.get_subcommands(shows).empty()) return {};
    return "; did you mean 'show " + argument + "'?";
}

/// Names the arguments that the parser could not place, options with the nearest known one.
std::string unexpected(const CLI::App& app) {
    std::vector<std::string> names;
    add_option_names(app, names);
    std::string text;
    for (const std::string& argument : app.remaining(true)) {
        const bool option = argument.size() > 1 && argument.front() == '-' &&
                            (argument[1] < '0' || argument[1] > '9');
        if (!option && !text.empty()) continue;  // the value of an unknown option
        text += (text.empty() ? "" : "; ");
        if (!option) {
            text += "unexpected argument '" + argument + "'" + as_option(argument, names) +
                    as_value_of_flag(argument) + as_size(argument, names) + as_shown(app, argument);
            continue;
        }
        const std::string name = argument.substr(0, argument.find('='));
        const std::string meant = meant_by(name, names);
        const std::string near =
            meant.empty() ? did_you_mean(name, names) : "did you mean '" + meant + "'?";
        text += "unknown option " + name + (near.empty() ? "" : "; " + near);
    }
    return text;
}

/// A range that the help shows as "6 to 200".
template <class T>
CLI::Validator within(T first, T last) {
    std::ostringstream words;
    words << first << " to " << last;
    return CLI::Validator(CLI::Range(first, last)).description(words.str());
}

constexpr std::string_view words_prefix = "words:";

/// The words of `Option::one_of`; none if the option takes any word.
std::vector<std::string> words_of(CLI::Option& option) {
    std::vector<std::string> words;
    std::string name;
    try {
        name = option.get_validator(0)->get_name();
    } catch (const CLI::OptionNotFound&) {
        return words;
    }
    if (name.rfind(words_prefix, 0) != 0) return words;
    std::istringstream list(name.substr(words_prefix.size()));
    for (std::string word; std::getline(list, word, ',');) words.push_back(word);
    return words;
}

/// "scatter, sweep"
std::string subcommand_names(const CLI::App& app) {
    std::string names;
    for (const CLI::App* const child : app.get_subcommands([](const CLI::App*) { return true; })) {
        names += (names.empty() ? "" : ", ") + child->get_name();
    }
    return names;
}

/// Rewords the parser's "--from: 1 required FILE missing" and "Could not convert: --seq = 1,2".
std::string plainly(std::string text) {
    constexpr std::string_view convert = "Could not convert: ";
    if (text.rfind(convert, 0) == 0) {
        const std::size_t sign = text.find(" = ");
        if (sign != std::string::npos) {
            return text.substr(convert.size(), sign - convert.size()) + ": '" +
                   text.substr(sign + 3) + "' is not one number";
        }
    }
    constexpr std::string_view one = ": 1 required ";
    constexpr std::string_view missing = " missing";
    const std::size_t at = text.find(one);
    if (at == std::string::npos || !text.ends_with(missing)) return text;
    text.replace(at, one.size(), ": ");
    text.insert(text.size() - missing.size(), " is");
    return text;
}

/// Names of the subcommands if there are some and none was given.
std::string missing_subcommand(const CLI::App& app) {
    return app.get_subcommands().empty() ? subcommand_names(app) : "";
}

OptionInfo info_of(CLI::Option& option) {
    OptionInfo info{.names = {},
                    .positional = option.get_positional(),
                    .value = option.get_type_name(),
                    .help = option.get_description(),
                    .group = option.get_group(),
                    .required = option.get_required(),
                    .words = words_of(option)};
    for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
    if (info.positional) info.names.push_back(option.get_name(true));
    return info;
}

}  // namespace

Option& Option::value(std::string_view word) {
    option_->type_name(std::string(word));
    return *this;
}

Option& Option::group(std::string_view heading) {
    option_->group(std::string(heading));
    return *this;
}

Option& Option::joined() {
    option_->join(',');
    return *this;
}

Option& Option::required() {
    option_->required();
    return *this;
}

namespace {

/// Replaces the text by the word that it means; what is wrong if there is none.
std::string settle_word(std::string& text, const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words) {
        list += (list.empty() ? "one of " : ", ") + word;
        if (!same_word(word, text)) continue;
        text = word;
        return {};
    }
    if (text.find(',') != std::string::npos) {
        return "one word was expected, not the list '" + text + "'";
    }
    const std::string near = did_you_mean(text, words);
    return "unknown word '" + text + "'; " + (near.empty() ? list : near);
}

/// A validator whose name keeps the words for `OptionInfo`.
template <class Check>
CLI::Validator validator_of(const std::vector<std::string>& words, Check&& check) {
    std::string name(words_prefix);
    for (const std::string& word : words) name += word + ',';
    return {std::forward<Check>(check), std::string(), name};
}

}  // namespace

Option& Option::one_of(const std::vector<std::string>& words) {
    option_->transform(
        validator_of(words, [words](std::string& text) { return settle_word(text, words); }));
    return *this;
}

Option& Option::words(const std::vector<std::string>& words) {
    option_->transform(validator_of(words, [words](std::string& text) {
        std::string settled;
        std::istringstream list(text);
        for (std::string word; std::getline(list, word, ',');) {
            if (std::string wrong = settle_word(word, words); !wrong.empty()) return wrong;
            settled += (settled.empty() ? "" : ",") + word;
        }
        if (!settled.empty()) text = settled;
        return std::string();
    }));
    return *this;
}

Option& Option::in_range(std::int32_t first, std::int32_t last) {
    option_->check(within(first, last));
    return *this;
}

Option& Option::in_range(std::uint64_t first, std::uint64_t last) {
    option_->check(within(first, last));
    return *this;
}

Option& Option::in_range(double first, double last) {
    option_->check(within(first, last));
    return *this;
}

Option& Option::not_negative() {
    option_->check(CLI::Validator(CLI::NonNegativeNumber).description("0 or more"));
    return *this;
}

Option& Option::excludes(const Option& other) {
    option_->excludes(other.option_);
    return *this;
}

CommandLine::CommandLine(std::string_view name, std::string_view description)
    : app_(std::make_shared<CLI::App>(std::string(description), std::string(name))) {
    app_->formatter(std::make_shared<HelpFormatter>());
}

Option CommandLine::option(std::string_view names, std::string& value, std::string_view help) {
    return bound(*app_, names, value, help);
}

Option CommandLine::option(std::string_view names, std::vector<std::string>& values,
                           std::string_view help) {
    return bound(*app_, names, values, help);
}

Option CommandLine::option(std::string_view names, std::int32_t& value, std::string_view help) {
    return bound_count(*app_, names, value, help);
}

Option CommandLine::option(std::string_view names, std::int64_t& value, std::string_view help) {
    return bound_count(*app_, names, value, help);
}

Option CommandLine::option(std::string_view names, std::uint64_t& value, std::string_view help) {
    return bound_count(*app_, names, value, help);
}

Option CommandLine::option(std::string_view names, double& value, std::string_view help) {
    return bound(*app_, names, value, help);
}

Option CommandLine::option(std::string_view names, std::optional<double>& value,
                           std::string_view help) {
    return bound(*app_, names, value, help);
}

Option CommandLine::positional(std::string_view name, std::string& value, std::string_view help) {
    return bound(*app_, name, value, help);
}

Option CommandLine::positional(std::string_view name, std::vector<std::string>& values,
                               std::string_view help) {
    return bound(*app_, name, values, help);
}

Option CommandLine::flag(std::string_view names, bool& set, std::string_view help) {
    return Option(app_->add_flag(std::string(names), set, std::string(help)));
}

Option CommandLine::flag(std::string_view names, std::string& text, std::string_view help) {
    return Option(app_->add_flag(std::string(names), text, std::string(help)));
}

Option CommandLine::shorthand(std::string_view names, std::string& value, std::string_view set_to,
                              std::string_view help) {
    const auto set = [&value, word = std::string(set_to)] { value = word; };
    return Option(app_->add_flag_callback(std::string(names), set, std::string(help)));
}

void CommandLine::version(std::string_view text) {
    app_->set_version_flag("--version", std::string(text));
}

CommandLine CommandLine::subcommand(std::string_view name, std::string_view description) {
    CLI::App* const child = app_->add_subcommand(std::string(name), std::string(description));
    return CommandLine(std::shared_ptr<CLI::App>(app_, child));
}

void CommandLine::require_subcommands(std::size_t least, std::size_t most) {
    app_->require_subcommand(least, most);
}

void CommandLine::fall_through() {
    app_->fallthrough();
}

void CommandLine::footer(std::string_view text) {
    app_->footer(std::string(text));
}

ParseResult CommandLine::parse(std::span<const std::string> arguments) {
    std::vector<std::string> reversed;
    std::transform(arguments.rbegin(), arguments.rend(), std::back_inserter(reversed), with_dashes);
    try {
        app_->parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
        return {.what = Parsed::help, .text = help()};
    } catch (const CLI::ExtrasError&) {
        constexpr std::size_t longest = 60;  // a longer list does not help
        const std::string names = missing_subcommand(*app_);
        const bool helps = !names.empty() && names.size() < longest;
        return {.what = Parsed::error,
                .text = unexpected(*app_) + (helps ? "; subcommands: " + names : "")};
    } catch (const CLI::RequiredError& error) {
        const std::string names = missing_subcommand(*app_);
        return {.what = Parsed::error,
                .text = names.empty() ? error.what() : "name a subcommand: " + names};
    } catch (const CLI::ParseError& error) {
        return {.what = Parsed::error, .text = plainly(error.what())};
    }
    return {};
}

bool CommandLine::parsed() const {
    return app_->parsed();
}

std::string CommandLine::name() const {
    return app_->get_name();
}

std::string CommandLine::description() const {
    return app_->get_description();
}

std::string CommandLine::footer() const {
    return app_->get_footer();
}

std::string CommandLine::help() const {
    return app_->help();
}

std::vector<OptionInfo> CommandLine::options() const {
    std::vector<OptionInfo> infos;
    for (CLI::Option* const option : app_->get_options({})) {
        infos.push_back(info_of(*option));
    }
    return infos;
}

std::vector<CommandLine> CommandLine::subcommands() const {
    std::vector<CommandLine> children;
    for (CLI::App* const child : app_->get_subcommands({})) {
        children.push_back(CommandLine(std::shared_ptr<CLI::App>(app_, child)));
    }
    return children;
}

}  // namespace ridge::cli
