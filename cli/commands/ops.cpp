// `ridge ops`: lists the operations, or shows one of them: its fields, defaults, implementations
// and, for an expression, its functions.
#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <string_view>

#include "cli/commands/commands.h"
#include "cli/console/json_document.h"
#include "cli/console/table.h"
#include "cli/options/command_line.h"
#include "cli/options/operation_command.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/expression/functions.h"

namespace ridge::cli {
namespace {

struct OpsOptions {
    std::string name;
    std::string format;
};

std::string aliases_of(model::OperationKind kind) {
    std::string names;
    for (const model::OperationAlias& alias : model::operation_aliases()) {
        if (alias.kind == kind) names += (names.empty() ? "" : ", ") + std::string(alias.name);
    }
    return names;
}

std::string implementations_of(const model::OperationInfo& info) {
    std::string names;
    for (const model::Implementation way : info.implementations) {
        names += (names.empty() ? "" : ", ") + std::string(name_of(way));
    }
    return names;
}

bool is_required(const model::OperationInfo& info, model::Field field) {
    return std::find(info.required.begin(), info.required.end(), field) != info.required.end();
}

std::string_view name_of(model::FieldKind kind) {
    constexpr std::array<std::string_view, 4> names{"count", "flag", "word", "text"};
    return names.at(static_cast<std::size_t>(kind));
}

/// The default in words; for `impl`, the operation's usual implementation.
std::string usual_of(const model::OperationInfo& info, const model::FieldInfo& field) {
    if (is_required(info, field.field)) return "(required)";
    if (field.field == model::Field::impl) {
        if (info.kind == model::OperationKind::attention) {
            return "the first of flashinfer, flash3, flash2 that the GPU runs";
        }
        return std::string(name_of(info.implementations.front()));
    }
    return std::string(field.usual);
}

/// The fields of an operation in the order of its table: required ones first, then optional ones.
std::vector<const model::FieldInfo*> fields_of(const model::OperationInfo& info) {
    std::vector<const model::FieldInfo*> fields;
    for (const auto list : {info.required, info.optional}) {
        for (const model::Field field : list) fields.push_back(&model::info_of(field));
    }
    return fields;
}

Table operations_table() {
    Table table{.columns = {{"operation"}, {"what it is"}, {"also called"}}, .rows = {}};
    for (const model::OperationInfo& info : model::operation_table()) {
        table.rows.push_back(
            {std::string(info.name), std::string(info.help), aliases_of(info.kind)});
    }
    return table;
}

Table fields_table(const model::OperationInfo& info) {
    Table table{.columns = {{"field"}, {"default"}, {"meaning"}}, .rows = {}};
    for (const model::FieldInfo* field : fields_of(info)) {
        table.rows.push_back(
            {std::string(field->name), usual_of(info, *field), std::string(field->help)});
    }
    return table;
}

/// The names of a function, its canonical name first.
std::string names_of(const model::FunctionInfo& function) {
    std::string names(function.name);
    for (const model::CallableName& callable : model::callable_names()) {
        if (callable.info->function != function.function || callable.name == function.name)
            continue;
        names += ", " + std::string(callable.name);
    }
    return names;
}

Table functions_table() {
    Table table{.columns = {{"function"},
                            {"meaning"},
                            {"FLOP", Align::right},
                            {"executed", Align::right},
                            {"special", Align::right}},
                .rows = {}};
    for (const model::FunctionInfo& function : model::function_table()) {
        if (function.arguments == 0) continue;
        table.rows.push_back({names_of(function), std::string(function.help),
                              format_number(function.work.operations),
                              format_number(function.work.flop),
                              format_number(function.work.special)});
    }
    return table;
}

std::vector<std::string> software_names() {
    std::vector<std::string> names;
    const model::Catalogue catalogue = model::Catalogue::with_user_files();
    for (const model::Software& each : catalogue.software()) names.push_back(each.name);
    return names;
}

Json json_of(const model::OperationInfo& info, const std::vector<std::string>& software) {
    Json json{{"op", info.name}, {"help", info.help}};
    Json aliases = Json::array();
    for (const model::OperationAlias& alias : model::operation_aliases()) {
        if (alias.kind == info.kind) aliases.push_back(alias.name);
    }
    json["aliases"] = std::move(aliases);
    Json ways = Json::array();
    for (const model::Implementation way : info.implementations) ways.push_back(name_of(way));
    json["implementations"] = std::move(ways);
    Json fields = Json::array();
    for (const model::FieldInfo* field : fields_of(info)) {
        const bool required = is_required(info, field->field);
        Json entry{{"field", field->name},
                   {"kind", name_of(field->kind)},
                   {"help", field->help},
                   {"required", required}};
        if (!required) entry["default"] = usual_of(info, *field);
        const auto known = model::words_of(info, field->field);
        const bool named = field->field == model::Field::software;
        Json words = Json::array();
        for (const std::string_view word : known) words.push_back(word);
        if (named) {
            for (const std::string& name : software) words.push_back(name);
        }
        if (named || !known.empty()) entry["words"] = std::move(words);
        fields.push_back(std::move(entry));
    }
    json["fields"] = std::move(fields);
    if (info.kind != model::OperationKind::elementwise) return json;
    Json functions = Json::array();
    for (const model::FunctionInfo& function : model::function_table()) {
        if (function.arguments == 0) continue;
        functions.push_back({{"names", names_of(function)},
                             {"help", function.help},
                             {"arguments", function.arguments},
                             {"flop", function.work.operations},
                             {"executed_flop", function.work.flop},
                             {"special_functions", function.work.special}});
    }
    json["functions"] = std::move(functions);
    return json;
}

/// CSV or Markdown.
void write(const Context& context, const Table& table, Format format) {
    format == Format::csv ? write_csv(context.out, table) : write_markdown(context.out, table);
}

/// "  name         text", with the text wrapped at the width of the terminal.
void write_entry(const Context& context, std::string_view name, const std::string& text) {
    constexpr std::size_t indent = 17;
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    std::string head = "  " + std::string(name);
    head.resize(std::max(head.size() + 1, indent), ' ');
    context.out << head << wrap(text, width, indent, indent) << '\n';
}

void write_operations(const Context& context) {
    for (const model::OperationInfo& info : model::operation_table()) {
        const std::string aliases = aliases_of(info.kind);
        write_entry(
            context, info.name,
            std::string(info.help) + (aliases.empty() ? aliases : "; also called " + aliases));
    }
    context.out << "\n`ridge ops NAME` lists the fields of an operation.\n";
}

void write_fields(const Context& context, const model::OperationInfo& info) {
    for (const model::FieldInfo* field : fields_of(info)) {
        const std::string usual = usual_of(info, *field);
        std::string text(field->help);
        if (is_required(info, field->field)) {
            text += " " + usual;
        } else if (!usual.empty()) {
            text += "; default: " + usual;
        }
        write_entry(context, field->name, text);
    }
}

int list_operations(const Context& context, Format format) {
    if (format == Format::json) {
        const std::vector<std::string> software = software_names();
        Json list = Json::array();
        for (const model::OperationInfo& info : model::operation_table()) {
            list.push_back(json_of(info, software));
        }
        context.out << list.text(2) << '\n';
        return success;
    }
    if (format == Format::table) {
        write_operations(context);
    } else {
        write(context, operations_table(), format);
    }
    return success;
}

int show_operation(const Context& context, const model::OperationInfo& info, Format format) {
    if (format == Format::json) {
        write_document(context.out, "operation", json_of(info, software_names()));
        return success;
    }
    const bool functions = info.kind == model::OperationKind::elementwise;
    if (format != Format::table) {
        write(context, fields_table(info), format);
        if (!functions || format == Format::csv) return success;
        context.out << '\n';
        write(context, functions_table(), format);
        return success;
    }
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    const std::string aliases = aliases_of(info.kind);
    context.out << wrap(std::string(info.name) + ": " + std::string(info.help), width, 2) << '\n';
    if (!aliases.empty()) context.out << "also called: " << aliases << '\n';
    if (!info.implementations.empty()) {
        context.out << wrap("implementations: " + implementations_of(info), width, 2) << '\n';
    }
    context.out << '\n';
    write_fields(context, info);
    if (!functions) return success;
    context.out << '\n';
    write_text(context.out, functions_table());
    context.out
        << "\nFLOP by definition, and what the pipes execute for fp32 (docs/model.md, E3).\n"
           "Numbers, pi, names and parentheses work as usual. c, alpha, beta and eps are\n"
           "scalars, bias, gamma and scale are vectors, all other names are tensors.\n";
    return success;
}

}  // namespace

Action build_ops(CommandLine& line, std::span<const std::string>) {
    const auto options = std::make_shared<OpsOptions>();
    line.positional("op", options->name, "operation to show in full").value("OP");
    add_format_option(line, options->format, "table|json|csv|md", " (in a pipe: csv)");
    line.footer(
        "Examples:\n"
        "  ridge ops\n"
        "  ridge ops attention\n"
        "  ridge ops elementwise --format json");
    return [options](const Context& context) {
        if (options->name.empty()) {
            return list_operations(context, parse_format(format_in_pipe(context, options->format)));
        }
        const Format format = parse_format(options->format);
        const model::OperationKind kind = model::parse_operation_kind(options->name);
        return show_operation(context, model::info_of(kind), format);
    };
}

}  // namespace ridge::cli
