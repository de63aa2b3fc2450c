#include "cli/commands/vram_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>

#include "cli/console/json_document.h"
#include "cli/console/table.h"
#include "cli/options/operation_command.h"
#include "cli/options/sweep_range.h"
#include "cli/views/memory.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

using model::Field;

struct Line {
    std::string implementation;
    std::vector<std::variant<Bytes, std::string>> memory;  ///< one per size
};

struct Lines {
    Field field = Field::seq;
    std::vector<std::int64_t> sizes;
    std::vector<Line> lines;
};

bool is_range_of(Field field, const std::string& text) {
    return model::info_of(field).kind == model::FieldKind::count && is_range(text);
}

std::vector<std::string> implementations_of(const FieldTexts& texts) {
    const auto given = texts.find(Field::impl);
    if (given == texts.end()) return {"standard", "flash2"};
    std::vector<std::string> names;
    std::istringstream stream(given->second);
    for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
    return names;
}

Lines lines_of(const LengthQuestion& question, const MemoryOf& memory) {
    constexpr std::size_t most_sizes = 1000;
    Lines result;
    bool found = false;
    for (const auto& [field, text] : question.texts) {
        if (!is_range_of(field, text)) continue;
        const std::string name(model::info_of(field).name);
        if (found) throw InputError(name + ": only one size can be a range here");
        found = true;
        result.field = field;
        result.sizes = parse_range(name, text).values;
        if (result.sizes.empty()) throw InputError(name + ": follows no range");
        if (result.sizes.size() > most_sizes) throw InputError(name + ": more than 1000 sizes");
    }
    for (const std::string& implementation : implementations_of(question.texts)) {
        Line line{.implementation = implementation, .memory = {}};
        for (const std::int64_t size : result.sizes) {
            FieldTexts texts = question.texts;
            texts[result.field] = std::to_string(size);
            texts[Field::impl] = implementation;
            line.memory.push_back(memory(texts));
        }
        result.lines.push_back(std::move(line));
    }
    return result;
}

/// "attention heads=32 head_dim=128 dtype=fp16, inference".
std::string title_of(const LengthQuestion& question) {
    std::string title = "attention";
    for (const auto& [field, text] : question.texts) {
        if (field == Field::impl || is_range_of(field, text)) continue;
        title += fmt::format(" {}={}", model::info_of(field).name, text);
    }
    return title + ", " + question.pass;
}

/// The largest size whose memory is within the limit; 0 when none is.
std::int64_t largest_within(const Lines& all, const Line& line, const MemoryLimit& limit) {
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < all.sizes.size(); ++i) {
        const auto* bytes = std::get_if<Bytes>(&line.memory[i]);
        if (bytes != nullptr && *bytes <= limit.usable) largest = std::max(largest, all.sizes[i]);
    }
    return largest;
}

void write_as_text(const Context& context, const LengthQuestion& question, const Lines& all) {
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << wrap(title_of(question), width, 2) << '\n';
    const std::string name(model::info_of(all.field).name);
    Table table{.columns = {{"  " + name, Align::right}}, .rows = {}};
    for (const Line& line : all.lines) table.columns.push_back({line.implementation, Align::right});
    for (std::size_t i = 0; i < all.sizes.size(); ++i) {
        std::vector<std::string> row{std::to_string(all.sizes[i])};
        for (const Line& line : all.lines) {
            const auto* bytes = std::get_if<Bytes>(&line.memory[i]);
            row.push_back(bytes == nullptr ? "refused" : format_capacity(*bytes));
        }
        table.rows.push_back(std::move(row));
    }
    write_text(context.out, table);
    if (!question.limits.empty()) context.out << '\n';
    for (const MemoryLimit& limit : question.limits) {
        std::string fits;
        for (const Line& line : all.lines) {
            const std::int64_t largest = largest_within(all, line, limit);
            fits += (fits.empty() ? "" : ", ") + line.implementation + " ";
            fits += largest == 0 ? "no size" : fmt::format("up to {}", largest);
        }
        write_sentence(context, fmt::format("{}: enough for {}.", text_of(limit), fits));
    }
}

Table exact_table(const Lines& all) {
    Table table{.columns = {{std::string(model::info_of(all.field).name), Align::right},
                            {"impl"},
                            {"bytes", Align::right},
                            {"evidence"},
                            {"error"}},
                .rows = {}};
    for (const Line& line : all.lines) {
        for (std::size_t i = 0; i < all.sizes.size(); ++i) {
            const auto* bytes = std::get_if<Bytes>(&line.memory[i]);
            table.rows.push_back(
                {std::to_string(all.sizes[i]), line.implementation,
                 bytes == nullptr ? "" : fmt::format("{:.0f}", bytes->base()),
                 bytes == nullptr
                     ? ""
                     : std::string(
                           name_of(attention_evidence(line.implementation, std::nullopt).grade())),
                 bytes == nullptr ? std::get<std::string>(line.memory[i]) : std::string()});
        }
    }
    return table;
}

Json json_of(const Lines& all) {
    Json list = Json::array();
    for (const Line& line : all.lines) {
        for (std::size_t i = 0; i < all.sizes.size(); ++i) {
            Json json{{"impl", line.implementation}};
            json[model::info_of(all.field).name] = all.sizes[i];
            if (const auto* bytes = std::get_if<Bytes>(&line.memory[i])) {
                json["bytes"] = bytes->base();
                json["evidence"] = to_json(attention_evidence(line.implementation, std::nullopt));
            } else {
                json["refused"] = std::get<std::string>(line.memory[i]);
            }
            list.push_back(std::move(json));
        }
    }
    return list;
}

plot::Chart chart_of(const LengthQuestion& question, const Lines& all) {
    plot::Sweep sweep;
    sweep.title = "Memory of " + title_of(question);
    sweep.subtitle = "peak that the allocator holds, tensors of the call included";
    sweep.x = {.title = std::string(model::info_of(all.field).name)};
    const bool wide = all.sizes.size() > 2 && all.sizes.back() > 8 * all.sizes.front();
    if (wide && all.sizes.front() > 0) sweep.x.scale = plot::Scale::log;
    sweep.y = {.title = "Memory", .unit = "GiB", .scale = plot::Scale::log};
    std::size_t refused = 0;
    for (const Line& line : all.lines) {
        plot::Series series;
        series.name = line.implementation;
        for (std::size_t i = 0; i < all.sizes.size(); ++i) {
            const auto* bytes = std::get_if<Bytes>(&line.memory[i]);
            if (bytes == nullptr) {
                ++refused;
                continue;
            }
            plot::SeriesPoint point{.x = static_cast<double>(all.sizes[i]),
                                    .y = bytes->in(units::GiB)};
            point.terms = {{"memory", both_units(*bytes)}};
            series.points.push_back(std::move(point));
        }
        sweep.series.push_back(std::move(series));
    }
    for (const MemoryLimit& limit : question.limits) {
        const double size = limit.usable.in(units::GiB);
        sweep.limits.push_back(
            {.name = limit.label + " " + format_number(size, size < 99.5 ? 2 : 3) + " GiB",
             .y = size});
    }
    if (refused > 0) sweep.notes.push_back(fmt::format("{} sizes are refused", refused));
    return plot::sweep_chart(sweep);
}

}  // namespace

bool has_range(const FieldTexts& texts) {
    return std::any_of(texts.begin(), texts.end(),
                       [](const auto& each) { return is_range_of(each.first, each.second); });
}

void write_lengths(const Context& context, const LengthQuestion& question, const MemoryOf& memory) {
    const Lines all = lines_of(question, memory);
    const bool chart = question.format == "chart";
    if (chart || !question.chart.file.empty()) {
        write_chart_output(context, question.chart, chart_of(question, all));
        if (chart || question.format.empty()) return;
    }
    switch (parse_format(question.format)) {
        case Format::json:
            write_document(context.out, "lengths", json_of(all));
            return;
        case Format::csv:
            write_csv(context.out, exact_table(all));
            return;
        case Format::markdown:
            write_markdown(context.out, exact_table(all));
            return;
        case Format::table:
            write_as_text(context, question, all);
            return;
    }
}

}  // namespace ridge::cli
