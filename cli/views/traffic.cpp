#include "cli/views/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/console/json_document.h"
#include "cli/console/rows.h"
#include "cli/views/memory.h"
#include "cli/views/report_rows.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using answers::ServedLoad;
using answers::TrafficAnswer;
using programs::Quantiles;
using programs::TrafficSummary;

constexpr double micro = 1e6;

Cell seconds_cell(double seconds) {
    return {.text = format(seconds * units::s), .number = seconds * micro};
}
Cell latency_cell(const Quantiles& values, double Quantiles::*part) {
    if (values.count == 0) return {.text = "-", .number = 0.0};
    return seconds_cell(values.*part);
}
Cell plain_cell(double value, int digits = 3) {
    return {.text = format_number(value, digits), .number = value};
}
Cell share_cell(double value) {
    return {.text = fmt::format("{:.0f} %", 100.0 * value), .number = value};
}
Cell whole_cell(std::int64_t value) {
    return {.text = std::to_string(value), .number = static_cast<double>(value)};
}

/// For programs: three quantiles, the mean, and the interval of the last.
void add_latency(Rows& rows, std::vector<std::vector<Cell>>& lines, const std::string& name,
                 const std::string& title, const std::vector<const Quantiles*>& values) {
    using Part = double Quantiles::*;
    const std::vector<std::pair<const char*, Part>> parts{{"mean", &Quantiles::mean},
                                                          {"p50", &Quantiles::p50},
                                                          {"p90", &Quantiles::p90},
                                                          {"p99", &Quantiles::p99}};
    for (const auto& [word, part] : parts) {
        const bool seen = part == &Quantiles::p50 || part == &Quantiles::p99;
        rows.columns.push_back({.name = name + "_" + word + "_us",
                                .title = title + " " + word,
                                .shown = seen && !title.empty() ? Shown::always : Shown::never});
        for (std::size_t i = 0; i < lines.size(); ++i) {
            lines[i].push_back(latency_cell(*values[i], part));
        }
    }
}

/// Batch, queue, cache and what programs want besides.
void add_state_columns(Rows& rows, const TrafficAnswer& answer) {
    const bool targets = answer.question.targets.ttft || answer.question.targets.tpot;
    const std::vector<Rows::Column> more{
        {.name = "within", .title = "in target", .shown = targets ? Shown::always : Shown::never},
        {.name = "goodput", .title = {}, .shown = Shown::never},
        {.name = "running", .title = "running", .shown = Shown::where_room},
        {.name = "waiting", .title = "waiting", .shown = Shown::where_room},
        {.name = "cache", .title = "cache", .shown = Shown::where_room},
        {.name = "preemptions", .title = {}, .shown = Shown::never},
        {.name = "refused", .title = {}, .shown = Shown::never},
        {.name = "requests_per_s", .title = {}, .shown = Shown::never},
        {.name = "mixed_steps", .title = {}, .shown = Shown::never},
        {.name = "mean_context", .title = {}, .shown = Shown::never},
        {.name = "step_us", .title = {}, .shown = Shown::never},
        {.name = "step_gpu_us", .title = {}, .shown = Shown::never},
        {.name = "evidence", .title = "evidence"}};
    rows.columns.insert(rows.columns.end(), more.begin(), more.end());
}

Rows rows_of(const TrafficAnswer& answer) {
    const bool by_rate = !answer.question.rates.empty();
    const bool logged = !answer.question.log.empty();
    Rows rows{.columns = {{.name = "rate",
                           .title = "requests/s",
                           .shown = by_rate ? Shown::always : Shown::never},
                          {.name = "concurrency",
                           .title = "at a time",
                           .shown = by_rate || logged ? Shown::never : Shown::always},
                          {.name = "tokens_per_s", .title = "tokens/s"}}};
    std::vector<std::vector<Cell>> lines;
    std::vector<const Quantiles*> ttft, tpot, itl, whole, queue;
    for (const ServedLoad& load : answer.loads) {
        const TrafficSummary& s = load.summary;
        lines.push_back({plain_cell(load.rate, 4), whole_cell(load.concurrency),
                         plain_cell(token_rate(load), 4)});
        ttft.push_back(&s.ttft);
        tpot.push_back(&s.tpot);
        itl.push_back(&s.itl);
        whole.push_back(&s.end_to_end);
        queue.push_back(&s.queue);
    }
    add_latency(rows, lines, "ttft", "TTFT", ttft);
    add_latency(rows, lines, "tpot", "TPOT", tpot);
    add_latency(rows, lines, "itl", "", itl);
    add_latency(rows, lines, "end_to_end", "", whole);
    add_latency(rows, lines, "queue", "", queue);
    add_state_columns(rows, answer);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const ServedLoad& load = answer.loads[i];
        const TrafficSummary& s = load.summary;
        for (Cell& cell : std::vector<Cell>{
                 share_cell(s.within), plain_cell(s.goodput), plain_cell(s.running),
                 plain_cell(s.waiting), share_cell(s.cache), whole_cell(s.preemptions),
                 whole_cell(s.refused), plain_cell(s.requests_per_s), share_cell(s.mixed),
                 plain_cell(s.context), seconds_cell(load.step.in(units::s)),
                 seconds_cell(load.step_gpu.in(units::s)),
                 Cell{.text = std::string(name_of(answer.evidence))}}) {
            lines[i].push_back(std::move(cell));
        }
    }
    rows.rows = std::move(lines);
    return rows;
}

Json json_of(const Quantiles& q) {
    return {{"count", q.count},
            {"mean_us", q.mean * micro},
            {"p50_us", q.p50 * micro},
            {"p90_us", q.p90 * micro},
            {"p99_us", q.p99 * micro},
            {"p99_low_us", q.p99_low * micro},
            {"p99_high_us", q.p99_high * micro}};
}

Json json_of(const ServedLoad& load) {
    const TrafficSummary& s = load.summary;
    Json json = Json::object();
    if (load.rate > 0.0) json["rate"] = load.rate;
    if (load.concurrency > 0) json["concurrency"] = load.concurrency;
    json["ttft"] = json_of(s.ttft);
    json["tpot"] = json_of(s.tpot);
    json["itl"] = json_of(s.itl);
    json["end_to_end"] = json_of(s.end_to_end);
    json["queue"] = json_of(s.queue);
    json["seconds"] = s.seconds;
    json["requests_per_s"] = s.requests_per_s;
    json["tokens_per_s"] = s.tokens_per_s;
    json["steady_tokens_per_s"] = s.steady_tokens_per_s;
    json["goodput_requests_per_s"] = s.goodput;
    json["within_targets"] = s.within;
    json["running"] = s.running;
    json["waiting"] = s.waiting;
    json["mean_context"] = s.context;
    json["cache_used"] = s.cache;
    json["cache_used_most"] = s.cache_most;
    json["mixed_steps"] = s.mixed;
    json["prefix_found"] = s.found;
    json["host_found"] = s.fetched;
    json["adapters_fetched"] = s.adapters_fetched;
    json["drafts_accepted"] = s.accepted;
    json["preemptions"] = s.preemptions;
    json["refused"] = s.refused;
    json["step_us"] = load.step.in(units::us);
    json["step_gpu_us"] = load.step_gpu.in(units::us);
    return json;
}

}  // namespace

std::string title_of(const TrafficAnswer& answer) {
    const programs::Deployment& d = answer.question.deployment;
    std::string text = fmt::format("{} on {} x {}", answer.model, answer.gpus, answer.gpu);
    if (d.gpus() > 1 || d.experts) text += ", " + text_of(d);
    if (answer.question.separate) {
        text += fmt::format(", {} for prompts, {} for answers", answer.question.separate->prompts,
                            answer.question.separate->answers);
    }
    return text + ", " + answer.question.engine.name;
}

std::string load_of(const TrafficAnswer& answer) {
    const answers::TrafficQuestion& question = answer.question;
    if (!question.log.empty()) return fmt::format("{} recorded requests", question.log.size());
    std::string text = fmt::format("prompts of {}, answers of {}", text_of(question.load.prompt),
                                   text_of(question.load.answer));
    if (question.load.vision) {
        text += fmt::format(", images of {} tokens", text_of(*question.load.vision));
    }
    if (question.load.adapters > 0) text += fmt::format(", {} adapters", question.load.adapters);
    if (question.load.prefix > 0.0) {
        text += fmt::format(", {:.0f} % of a prompt common to its group of {}",
                            100.0 * question.load.prefix, question.load.groups);
    }
    return text;
}

Json to_json(const TrafficAnswer& answer) {
    Json json{{"model", answer.model},
              {"gpu", answer.gpu},
              {"gpus", answer.gpus},
              {"engine", answer.question.engine.name},
              {"deployment", text_of(answer.question.deployment)},
              {"evidence", name_of(answer.evidence)},
              {"verdict", verdict_of(answer)},
              {"weights_bytes", answer.weights_bytes},
              {"cache_tokens", answer.cache_tokens},
              {"host_cache_tokens", answer.host_tokens},
              {"command",
               start_command(answer.question.engine, answer.model, answer.question.deployment)},
              {"loads", Json::array()}};
    for (const ServedLoad& load : answer.loads) json["loads"].push_back(json_of(load));
    if (answer.most_within) {
        json["most_within"] = static_cast<std::int64_t>(*answer.most_within);
    }
    json["remarks"] = Json(remarks_on(answer));
    return json;
}

void write_traffic(const Context& context, const TrafficAnswer& answer, Format format) {
    switch (format) {
        case Format::json:
            return write_document(context.out, "serve", to_json(answer));
        case Format::csv:
        case Format::markdown:
            return write_rows(context, rows_of(answer), format);
        case Format::table:
            break;
    }
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    context.out << wrap(title_of(answer) + ": " + load_of(answer), width, 2) << "\n\n"
                << wrap(verdict_of(answer), width, 2) << "\n\n";
    write_rows(context, rows_of(answer), format);
    context.out << '\n';
    write_sentence(context, "Evidence: " + std::string(name_of(answer.evidence)) + '.');
    for (const std::string& remark : remarks_on(answer)) write_sentence(context, remark);
}

plot::Report traffic_page(const TrafficAnswer& answer, std::vector<plot::Chart> charts,
                          const std::string& command) {
    plot::Report page{.title = title_of(answer), .subtitle = load_of(answer)};
    page.blocks.emplace_back(
        plot::ReportText{.heading = "Verdict", .sentences = {verdict_of(answer)}});
    for (plot::Chart& chart : charts) page.blocks.emplace_back(std::move(chart));
    page.blocks.emplace_back(
        report_table(rows_of(answer), "Each load",
                     "TTFT: time to the first token; TPOT: per further token; p99: of 99 in 100."));
    plot::ReportText remarks{.heading = "What the numbers assume", .sentences = remarks_on(answer)};
    remarks.sentences.push_back("Made by: " + command);
    page.blocks.emplace_back(std::move(remarks));
    return page;
}

}  // namespace ridge::cli
