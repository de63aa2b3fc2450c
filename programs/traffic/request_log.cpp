// Reads logs of requests: CSV with a heading, or one JSON object per line.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "hardware/error.h"
#include "hardware/json.h"
#include "hardware/number_text.h"
#include "hardware/si.h"
#include "hardware/text.h"
#include "programs/traffic/requests.h"

namespace ridge::programs {
namespace {

enum class LogField : std::uint8_t {
    arrival,
    prompt,
    answer,
    prefix,
    group,
    priority,
    vision,
    adapter
};
struct LogName {
    std::string_view name;
    LogField field;
    double unit;  ///< of one in the log
};
constexpr std::array<LogName, 15> log_names{
    LogName{"arrival_s", LogField::arrival, 1.0 / si::nanosecond},
    LogName{"arrival_ms", LogField::arrival, si::millisecond / si::nanosecond},
    LogName{"timestamp", LogField::arrival, 1.0 / si::nanosecond},
    LogName{"prompt_tokens", LogField::prompt, 1.0},
    LogName{"input_tokens", LogField::prompt, 1.0},
    LogName{"input_length", LogField::prompt, 1.0},
    LogName{"answer_tokens", LogField::answer, 1.0},
    LogName{"output_tokens", LogField::answer, 1.0},
    LogName{"output_length", LogField::answer, 1.0},
    LogName{"prefix_tokens", LogField::prefix, 1.0},
    LogName{"group", LogField::group, 1.0},
    LogName{"prefix_group", LogField::group, 1.0},
    LogName{"priority", LogField::priority, 1.0},
    LogName{"vision_tokens", LogField::vision, 1.0},
    LogName{"adapter", LogField::adapter, 1.0}};

const LogName* log_name(std::string_view name) {
    for (const LogName& each : log_names) {
        if (each.name == name) return &each;
    }
    return nullptr;
}

void set(TrafficRequest& request, const LogName& name, double value, const Location& where) {
    const double most = name.field == LogField::arrival ? 1e17 : 1e9;
    const double scaled = value * name.unit;
    if (!(scaled >= 0.0) || scaled > most) {
        throw InputError(std::string(name.name) + " is negative or too large", where);
    }
    const std::int64_t whole = std::llround(scaled);
    switch (name.field) {
        case LogField::arrival:
            request.arrival_ns = whole;
            return;
        case LogField::prompt:
            request.prompt = whole;
            return;
        case LogField::answer:
            request.answer = whole;
            return;
        case LogField::prefix:
            request.prefix = whole;
            return;
        case LogField::group:
            request.group = whole;
            return;
        case LogField::priority:
            request.priority = whole;
            return;
        case LogField::vision:
            request.vision = whole;
            return;
        case LogField::adapter:
            request.adapter = whole;
            return;
    }
}

/// Calls `visit` with each line that is not empty, and its number.
template <class Visit>
void each_line(std::string_view text, Visit visit) {
    for (std::int64_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (!trimmed(line).empty()) visit(trimmed(line), number);
    }
}

std::vector<std::string_view> cells_of(std::string_view line) {
    std::vector<std::string_view> cells;
    while (true) {
        const std::size_t end = line.find(',');
        cells.push_back(trimmed(line.substr(0, end)));
        if (end == std::string_view::npos) return cells;
        line.remove_prefix(end + 1);
    }
}

TrafficRequest from_object(std::string_view line, const Location& where) {
    const std::optional<Json> json = Json::parse(line);
    if (!json || !json->is_object()) throw InputError("not a JSON object", where);
    TrafficRequest request;
    for (const JsonMember& member : json->members()) {
        const LogName* name = log_name(member.name);
        const auto value = member.value.if_number();
        if (name != nullptr && value) set(request, *name, *value, where);
    }
    return request;
}

TrafficRequest from_cells(std::string_view line, const std::vector<const LogName*>& columns,
                          const Location& where) {
    const std::vector<std::string_view> cells = cells_of(line);
    if (cells.size() != columns.size()) {
        throw InputError(std::to_string(cells.size()) + " cells under " +
                             std::to_string(columns.size()) + " columns",
                         where);
    }
    TrafficRequest request;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (columns[i] == nullptr || cells[i].empty()) continue;
        const auto value = whole_real(cells[i]);
        if (!value) {
            throw InputError(
                std::string(columns[i]->name) + ": " + quoted(cells[i]) + " is no number", where);
        }
        set(request, *columns[i], *value, where);
    }
    return request;
}

void check_columns(const std::vector<const LogName*>& columns, const Location& where) {
    for (const LogField needed : {LogField::arrival, LogField::prompt, LogField::answer}) {
        const bool found = std::any_of(columns.begin(), columns.end(), [&](const LogName* name) {
            return name != nullptr && name->field == needed;
        });
        if (found) continue;
        throw InputError("a log needs the columns arrival_s, prompt_tokens and answer_tokens",
                         where);
    }
}

}  // namespace

std::vector<TrafficRequest> read_request_log(std::string_view text, const std::string& file) {
    std::vector<TrafficRequest> all;
    std::vector<const LogName*> columns;
    each_line(text, [&](std::string_view line, std::int64_t number) {
        const Location where{.file = file, .line = number};
        if (line.front() == '#') return;
        if (line.front() != '{' && columns.empty()) {
            for (const std::string_view cell : cells_of(line)) columns.push_back(log_name(cell));
            return check_columns(columns, where);
        }
        TrafficRequest request =
            line.front() == '{' ? from_object(line, where) : from_cells(line, columns, where);
        if (request.prompt < 1) throw InputError("prompt_tokens must be positive", where);
        if (request.answer < 1) throw InputError("answer_tokens must be positive", where);
        request.prefix = std::min(request.prefix, request.prompt);
        request.vision = std::min(request.vision, request.prompt);
        all.push_back(request);
    });
    if (all.empty()) throw InputError("no request", {.file = file});
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.arrival_ns < b.arrival_ns; });
    const std::int64_t start = all.front().arrival_ns;
    for (TrafficRequest& request : all) request.arrival_ns -= start;
    return all;
}

}  // namespace ridge::programs
