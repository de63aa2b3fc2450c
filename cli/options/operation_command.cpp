#include "cli/options/operation_command.h"
#include "cli/options/command_line.h"

#include <sstream>

#include "hardware/error.h"

namespace ridge::cli {

OperationArgument::OperationArgument(CommandLine& line, std::span<const std::string> arguments) {
    std::string names;
    for (const model::OperationInfo& info : model::operation_table()) {
        names += (names.empty() ? "" : ", ") + std::string(info.name);
    }
    line.positional("op", name_, "operation: " + names).value("OP");
    if (arguments.empty() || arguments.front().empty() || arguments.front().front() == '-') return;
    kind_ = model::parse_operation_kind(arguments.front());
    options_ = std::make_unique<OperationOptions>(line, *kind_);
}

model::OperationKind OperationArgument::kind() const {
    if (!kind_) {
        throw InputError(
            "op is missing", {},
            "the operation comes first, for example: ridge predict matmul --m 4096 ...");
    }
    return *kind_;
}

model::Parameters OperationArgument::parameters() const {
    return options_ ? options_->parameters() : model::Parameters{};
}

std::map<model::Field, std::string> OperationArgument::texts() const {
    return options_ ? options_->texts() : std::map<model::Field, std::string>{};
}

void add_format_option(CommandLine& line, std::string& format, const std::string& choices) {
    std::vector<std::string> words;
    std::istringstream stream(choices);
    for (std::string word; std::getline(stream, word, '|');) words.push_back(word);
    line.option("--format", format, "output format: " + choices).value("FORMAT").one_of(words);
}

Format parse_format(const std::string& name) {
    if (name == "json") return Format::json;
    if (name == "csv") return Format::csv;
    if (name == "md") return Format::markdown;
    return Format::table;
}

}  // namespace ridge::cli
