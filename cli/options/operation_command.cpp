#include "cli/options/operation_command.h"
#include "cli/input/settings.h"
#include "cli/options/command_line.h"
#include "cli/options/gpu_options.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "hardware/error.h"
#include "programs/configs/presets.h"

namespace ridge::cli {

namespace {

bool is_option(const std::string& argument) {
    return argument.empty() || argument.front() == '-';
}

/// The operation that the arguments name. InputError if a first word is not an operation.
std::optional<model::OperationKind> kind_among(std::span<const std::string> arguments) {
    const std::string word = operation_among(arguments, [](std::string_view each) {
        return model::find_operation_kind(each).has_value();
    });
    if (word.empty()) return std::nullopt;
    if (!model::find_operation_kind(word) && programs::is_model(word)) {
        throw InputError("op: '" + word + "' is a model", {},
                         "ridge plan " + word + "; ridge model " + word + " takes lists too");
    }
    return model::parse_operation_kind(word);
}

}  // namespace

std::string operation_among(std::span<const std::string> arguments,
                            const std::function<bool(std::string_view)>& is_operation) {
    if (arguments.empty()) return {};
    if (!is_option(arguments.front())) return arguments.front();
    constexpr std::array<std::string_view, 7> of_texts{"-o",        "--output", "--from",  "--op",
                                                       "--records", "--where",  "--launch"};
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const std::string& before = arguments[i - 1];
        if (std::find(of_texts.begin(), of_texts.end(), before) != of_texts.end()) continue;
        if (is_operation(arguments[i])) return arguments[i];
    }
    return {};
}

OperationArgument::OperationArgument(CommandLine& line, std::span<const std::string> arguments)
    : command_(line.name()) {
    std::string names;
    for (const model::OperationInfo& info : model::operation_table()) {
        names += (names.empty() ? "" : ", ") + std::string(info.name);
    }
    line.positional("op", name_, "operation: " + names).value("OP");
    kind_ = kind_among(arguments);
    if (!kind_) return;
    options_ = std::make_unique<OperationOptions>(line, *kind_);
}

model::OperationKind OperationArgument::kind() const {
    if (!kind_) {
        throw InputError("op is missing", {},
                         "name an operation, for example: " + command_ +
                             " matmul --m 4096 ...; `ridge ops` lists them");
    }
    return *kind_;
}

model::Parameters OperationArgument::parameters() const {
    return options_ ? options_->parameters() : model::Parameters{};
}

void OperationArgument::require_complete(const GpuOptions& gpu) const {
    if (!kind_) return;
    std::vector<std::string_view> missing = model::missing_fields(*kind_, parameters());
    if (missing.empty()) return;
    if (!gpu.known()) missing.emplace_back("gpu");
    const std::string name(model::info_of(*kind_).name);
    throw InputError(model::missing_text(missing, name), {},
                     "`ridge ops " + name + "` lists its fields");
}

std::map<model::Field, std::string> OperationArgument::texts() const {
    return options_ ? options_->texts() : std::map<model::Field, std::string>{};
}

void add_format_option(CommandLine& line, std::string& format, const std::string& choices,
                       const std::string& note) {
    std::vector<std::string> words;
    std::istringstream stream(choices);
    for (std::string word; std::getline(stream, word, '|');) words.push_back(word);
    const Option whole = line.option("--format", format, "output format: " + choices + note)
                             .value("FORMAT")
                             .one_of(words);
    if (std::find(words.begin(), words.end(), "json") == words.end()) return;
    line.shorthand("--json", format, "json", "short for --format json").excludes(whole);
}

std::string format_in_pipe(const Context& context, const std::string& given) {
    return given.empty() && context.piped && !default_format() ? "csv" : given;
}

Format parse_format(const std::string& given) {
    const std::string name = given.empty() ? default_format().value_or("table") : given;
    if (name == "json") return Format::json;
    if (name == "csv") return Format::csv;
    if (name == "md") return Format::markdown;
    return Format::table;
}

}  // namespace ridge::cli
