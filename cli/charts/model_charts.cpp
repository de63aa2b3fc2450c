#include "cli/charts/model_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/charts/roofline_charts.h"
#include "effects/chart.h"
#include "hardware/error.h"
#include "hardware/si.h"
#include "hardware/units.h"
#include "model/core/fields.h"
#include "plot/sweep.h"
#include "programs/largest.h"

namespace ridge::cli {
namespace {

using si::tera;
constexpr double least_share = 0.005;  ///< of the time, to be on the roofline

std::string where(const StepAnswer& answer) {
    return fmt::format("{} on {}, {}", title_of(answer), answer.machine->name,
                       name_of(answer.request.software));
}

/// An operation that takes much of the time; equal ones are one entry.
struct Standing {
    std::string name;
    const model::Prediction* prediction = nullptr;
    std::string shape;
    Time time{};  ///< in the step
};

std::vector<Standing> standings_of(const StepAnswer& answer, std::size_t& without_arithmetic,
                                   std::size_t& small) {
    std::vector<Standing> standings;
    std::map<std::string, std::size_t> named;
    const auto& entries = answer.step.program.entries;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const programs::Entry& entry = entries[i];
        const auto* p = std::get_if<model::Prediction>(&answer.time->gpu.outcomes[i]);
        if (p == nullptr) continue;
        if (p->algorithmic <= Intensity{} || p->intensity <= Intensity{}) {
            ++without_arithmetic;
            continue;
        }
        const Time time = time_of(entry, answer.time->gpu.outcomes[i]);
        if (answer.time->gpu.total.left_out.empty() &&
            time < least_share * answer.time->gpu.total.time) {
            ++small;
            continue;
        }
        std::string name = entry.name;
        if (entry.pass == programs::Pass::backward) name += ", backward";
        if (const std::size_t seen = named[name]++; seen > 0) {
            name += fmt::format(" ({})", seen + 1);
        }
        const model::OperationKind kind = model::kind_of(entry.operation);
        standings.push_back({.name = std::move(name),
                             .prediction = p,
                             .shape = model::text_of(kind, model::parameters_of(entry.operation)),
                             .time = time});
    }
    return standings;
}

plot::OperationPoint point_of(const Standing& each, Time whole, const std::string& share_name) {
    const model::Prediction& p = *each.prediction;
    const Flop flop = p.work.flop();
    return {.name = each.name,
            .series = {},
            .level = plot::Resource::dram,
            .x = p.intensity.base(),
            .y = (flop / p.time).base() / tera,
            .origin = effects::origin_of(p.evidence.grade()),
            .order = -each.time.base(),
            .terms = {{"operation", each.shape},
                      {"in the step", format(each.time), each.time.base()},
                      {share_name, format_number(100.0 * (each.time / whole), 3) + " %",
                       each.time / whole},
                      {"once", format(p.time), p.time.base()},
                      {"limit", std::string(name_of(p.limiter))},
                      {"evidence", std::string(name_of(p.evidence.grade()))}}};
}

/// A prediction of the step at another batch.
struct AtBatch {
    std::int64_t batch = 0;
    programs::StepTime time;
};

std::vector<AtBatch> over_batches(const StepAnswer& answer) {
    constexpr std::int64_t most = 256;
    const std::int64_t usable =
        answer.usable ? static_cast<std::int64_t>(answer.usable->base()) : 0;
    std::vector<AtBatch> found;
    for (std::int64_t batch = 1; batch <= std::max(most, answer.request.batch); batch *= 2) {
        programs::Request request = answer.request;
        request.batch = batch;
        if (usable > 0 && !programs::fits(*answer.architecture, request, usable)) break;
        const programs::ModelStep step = make_step(*answer.architecture, request, false);
        found.push_back({.batch = batch, .time = predict(step, *answer.machine, answer.host)});
    }
    return found;
}

}  // namespace

plot::Chart step_roofline(const StepAnswer& answer, const hardware::Description& gpu) {
    std::size_t without_arithmetic = 0;
    std::size_t small = 0;
    const std::vector<Standing> standings = standings_of(answer, without_arithmetic, small);
    plot::Roofline roofline =
        roofs_alone(*answer.machine, gpu, {answer.request.type}, answer.request.type);
    roofline.title = "Roofline of " + where(answer);
    roofline.subtitle = "operations of the step, FLOP per byte of DRAM; area: share of the time";
    const programs::Totals& total = answer.time->gpu.total;
    const Time whole = total.time;
    if (!total.left_out.empty()) {
        roofline.subtitle =
            "operations of the step, FLOP per byte of DRAM; area: part of the time that is "
            "modelled";
        roofline.notes.push_back("Not drawn: " + total.left_out.text() + ".");
    }
    const std::string share_name = total.left_out.empty() ? "share" : "share of what is modelled";
    std::map<std::string, double> shares;
    for (const Standing& each : standings) {
        roofline.points.push_back(point_of(each, whole, share_name));
        shares[each.name] = each.time / whole;
    }
    roofline.key_terms = {"in the step", share_name, "once", "limit", "evidence"};
    if (small > 0 || without_arithmetic > 0) {
        roofline.notes.push_back(fmt::format(
            "Not drawn: {} kernels that only move data, {} that take less than {} % each.",
            without_arithmetic, small, format_number(100.0 * least_share)));
    }
    plot::Chart chart = plot::roofline_chart(roofline);
    for (plot::Mark& mark : chart.marks) {
        const auto share = shares.find(mark.name);
        if (share != shares.end()) mark.radius = std::max(2.5, 40.0 * std::sqrt(share->second));
    }
    return chart;
}

plot::Chart latency_chart(const StepAnswer& answer) {
    plot::Sweep sweep;
    sweep.title = fmt::format("Latency of {}, {} of {} tokens on {}, {}", answer.architecture->name,
                              name_of(answer.request.phase), answer.request.seq,
                              answer.machine->name, name_of(answer.request.software));
    sweep.subtitle = "wall, kernels with the band of their sum, and host, over batches that fit";
    sweep.x = {.title = "Batch", .scale = plot::Scale::log};
    sweep.y = {.title = "Time", .unit = "ms", .scale = plot::Scale::log};
    plot::Series wall{.name = "wall"};
    plot::Series kernels{.name = "kernels"};
    plot::Series host{.name = "host", .detail = std::string(answer.host.name)};
    for (const AtBatch& each : over_batches(answer)) {
        if (const model::Unmodelled& left_out = each.time.gpu.total.left_out; !left_out.empty()) {
            sweep.notes.push_back(
                fmt::format("Not drawn: a batch of {}: {}.", each.batch, left_out.text()));
            continue;
        }
        const auto batch = static_cast<double>(each.batch);
        const programs::Totals& total = each.time.gpu.total;
        const std::vector<plot::Term> terms{
            {"wall", format(each.time.wall)},
            {"kernels", format(total.time)},
            {"host", format(each.time.host)},
            {"evidence", std::string(name_of(weakest_grade(total)))},
            {"tokens/s", format_number(static_cast<double>(each.batch * answer.request.tokens()) /
                                           each.time.wall.in(units::s),
                                       4)}};
        const plot::Origin origin = effects::origin_of(weakest_grade(total));
        wall.points.push_back(
            {.x = batch, .y = each.time.wall.in(units::ms), .origin = origin, .terms = terms});
        kernels.points.push_back({.x = batch,
                                  .y = total.time.in(units::ms),
                                  .low = total.low.in(units::ms),
                                  .high = total.high.in(units::ms),
                                  .origin = origin,
                                  .terms = terms});
        host.points.push_back({.x = batch, .y = each.time.host.in(units::ms), .terms = terms});
    }
    if (wall.points.empty() && sweep.notes.empty()) {
        sweep.notes.emplace_back("Not even one sequence fits.");
    }
    sweep.series = {std::move(wall), std::move(kernels), std::move(host)};
    return plot::sweep_chart(sweep);
}

namespace {

plot::SeriesPoint named_point(const programs::ServingPoint& point, double x, double y, bool front) {
    plot::SeriesPoint at{.x = x, .y = y, .origin = effects::origin_of(point.evidence)};
    at.name = fmt::format("{}", point.batch);
    at.labelled = front;
    at.terms = {{"batch", std::to_string(point.batch)},
                {"GPUs", std::to_string(point.gpus)},
                {"TTFT", format(point.ttft)},
                {"TPOT", format(point.tpot)},
                {"on the front", front ? "yes" : "no"}};
    return at;
}

std::string gpus_text(std::int64_t gpus) {
    return gpus == 1 ? "1 GPU" : fmt::format("{} GPUs", gpus);
}

plot::Series front_series() {
    plot::Series front{.name = "Pareto front", .markers = plot::Markers::hidden};
    front.style = plot::Style{.color = plot::Color::ink, .dash = plot::Dash::dashed, .width = 1.2};
    return front;
}

/// Points of servings: a line for each number of GPUs, the front if there are several lines, and a
/// note of what does not fit.
class FrontLines {
  public:
    explicit FrontLines(std::string title) {
        sweep_.title = std::move(title);
        sweep_.subtitle = "numbers: batch of points that no other point beats in both";
    }
    void axes(std::string x, std::string y) {
        sweep_.x = {.title = std::move(x)};
        sweep_.y = {.title = std::move(y)};
    }
    void leave_out() { ++left_out_; }
    void add(const programs::ServingPoint& point, plot::SeriesPoint at, bool best) {
        plot::Series& series = by_gpus_[point.gpus];
        series.name = gpus_text(point.gpus);
        if (best) front_.points.push_back({.x = at.x, .y = at.y});
        series.points.push_back(std::move(at));
    }
    [[nodiscard]] bool empty() const { return by_gpus_.empty(); }
    [[nodiscard]] plot::Chart chart() && {
        std::sort(front_.points.begin(), front_.points.end(),
                  [](const auto& a, const auto& b) { return a.x < b.x; });
        const bool several = by_gpus_.size() > 1;
        for (auto& [gpus, series] : by_gpus_) sweep_.series.push_back(std::move(series));
        if (several) sweep_.series.push_back(std::move(front_));
        if (left_out_ > 0) {
            sweep_.notes.push_back(fmt::format(
                "{} into memory.", left_out_ == 1
                                       ? "1 point does not fit"
                                       : fmt::format("{} points do not fit", left_out_)));
        }
        return plot::sweep_chart(sweep_);
    }

  private:
    plot::Sweep sweep_;
    plot::Series front_ = front_series();
    std::map<std::int64_t, plot::Series> by_gpus_;
    std::size_t left_out_ = 0;
};

}  // namespace

plot::Chart pareto_chart(const std::vector<programs::ServingPoint>& points,
                         const std::string& title) {
    FrontLines lines(title);
    lines.axes("Tokens/s of a sequence", "Tokens/s of a GPU");
    for (const programs::ServingPoint& point : points) {
        if (!point.fits) {
            lines.leave_out();
            continue;
        }
        const double rate = 1.0 / point.tpot.in(units::s);
        lines.add(point, named_point(point, rate, point.per_gpu(), point.front), point.front);
    }
    return std::move(lines).chart();
}

plot::Chart energy_chart(const std::vector<programs::ServingPoint>& points,
                         const std::string& title) {
    FrontLines lines(title);
    lines.axes("Time between two tokens (ms)", "Joules a token");
    const auto counts = [](const programs::ServingPoint& point) {
        return point.fits && point.per_token > Energy{};
    };
    for (const programs::ServingPoint& point : points) {
        if (!point.fits) lines.leave_out();
        if (!counts(point)) continue;
        const bool best = std::none_of(points.begin(), points.end(), [&](const auto& other) {
            const bool no_worse = other.tpot <= point.tpot && other.per_token <= point.per_token;
            const bool better = other.tpot < point.tpot || other.per_token < point.per_token;
            return counts(other) && no_worse && better;
        });
        plot::SeriesPoint at =
            named_point(point, point.tpot.in(units::ms), point.per_token.base(), best);
        at.terms.push_back({"joules a token", format(point.per_token)});
        lines.add(point, std::move(at), best);
    }
    if (lines.empty()) throw InputError("chart: no point has an energy");
    return std::move(lines).chart();
}

}  // namespace ridge::cli
