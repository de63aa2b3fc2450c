#include "cli/options/operation_options.h"
#include "cli/options/command_line.h"

#include <algorithm>

#include "hardware/count.h"
#include "hardware/error.h"
#include "model/core/data_type.h"

namespace ridge::cli {
namespace {

std::string option_name(model::Field field) {
    std::string name = "--" + std::string(model::info_of(field).name);
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

constexpr std::string_view value_name(model::FieldKind kind) {
    switch (kind) {
        case model::FieldKind::count:
            return "COUNT";
        case model::FieldKind::word:
            return "WORD";
        default:
            return "TEXT";
    }
}

/// The help of a field; for `impl`, the list of the operation's implementations.
std::string help_of(const model::FieldInfo& info, const model::OperationInfo& operation) {
    if (info.field != model::Field::impl) return std::string(info.help);
    std::string words = "auto";
    for (const model::Implementation implementation : operation.implementations) {
        words += ", " + std::string(name_of(implementation));
    }
    return "implementation: " + words;
}

/// The number of elements of a tensor of that size. InputError if it is not a whole number, or if
/// elements are given too.
std::string elements_of(const std::string& size, const std::map<model::Field, std::string>& given) {
    if (given.count(model::Field::elements) > 0) {
        throw InputError("bytes: --bytes and --elements cannot be given together");
    }
    const auto type = given.find(model::Field::dtype);
    const std::int64_t element =
        model::size_of(type == given.end() ? model::DataType::bf16
                                           : model::parse_data_type(type->second, "dtype"));
    const std::int64_t bytes = parse_count(size, "bytes", CountUnit::bytes);
    if (bytes % element != 0) {
        throw InputError("bytes: " + size + " is no whole number of elements of " +
                         std::to_string(element) + " bytes");
    }
    return std::to_string(bytes / element);
}

}  // namespace

OperationOptions::OperationOptions(CommandLine& line, model::OperationKind kind) {
    const model::OperationInfo& operation = model::info_of(kind);
    const auto add = [&](model::Field field, bool required) {
        const model::FieldInfo& info = model::info_of(field);
        const std::string help = help_of(info, operation) + (required ? " (required)" : "");
        if (info.kind == model::FieldKind::flag) {
            line.flag(option_name(field), flags_[field], help).group("Operation");
            return;
        }
        line.option(option_name(field), texts_[field], help)
            .value(std::string(value_name(info.kind)))
            .group("Operation");
    };
    for (const model::Field field : operation.required) add(field, true);
    for (const model::Field field : operation.optional) add(field, false);
    if (model::applies(kind, model::Field::elements) &&
        !model::applies(kind, model::Field::bytes)) {
        line.option("--bytes", bytes_, "size of one tensor, 8MB, instead of --elements")
            .value("SIZE")
            .group("Operation");
    }
    if (kind == model::OperationKind::elementwise) {
        line.flag("--unfused", unfused_, "one kernel per function: the same as --impl unfused")
            .group("Operation");
    }
}

std::map<model::Field, std::string> OperationOptions::texts() const {
    std::map<model::Field, std::string> given;
    for (const auto* const fields : {&texts_, &flags_}) {
        for (const auto& [field, text] : *fields) {
            if (!text.empty()) given[field] = text;
        }
    }
    if (!bytes_.empty()) given[model::Field::elements] = elements_of(bytes_, given);
    if (unfused_) {
        const auto other = given.find(model::Field::impl);
        if (other != given.end() && other->second != "unfused") {
            throw InputError("impl: --unfused and --impl " + other->second +
                             " contradict each other");
        }
        given[model::Field::impl] = "unfused";
    }
    return given;
}

model::Parameters OperationOptions::parameters() const {
    model::Parameters parameters;
    for (const auto& [field, text] : texts()) parameters.set(field, text);
    return parameters;
}

}  // namespace ridge::cli
