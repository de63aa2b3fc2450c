#include "plot/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "hardware/error.h"
#include "plot/text.h"
#include "plot/ticks.h"

namespace ridge::plot {

namespace {

constexpr std::array memory_colors = {Color::blue, Color::green, Color::sky, Color::purple};
constexpr std::array compute_colors = {Color::vermillion, Color::orange, Color::purple,
                                       Color::green};

void require_drawable(double value, const std::string& name) {
    if (drawable(value, Scale::log)) return;
    throw InputError(fmt::format("the roof '{}' has the value {}", clean_text(name), value), {},
                     "a roof is a positive, finite number");
}

/// The roofs that carry the envelope; null where there is none.
struct Ridge {
    const MemoryRoof* memory = nullptr;
    const ComputeRoof* compute = nullptr;

    [[nodiscard]] bool complete() const { return memory != nullptr && compute != nullptr; }
};

double value_of(const MemoryRoof& roof) {
    return roof.slope;
}
double value_of(const ComputeRoof& roof) {
    return roof.rate;
}

/// Emphasised before plain, measured before datasheet, then the lowest `sign * value`.
template <class Roof>
const Roof* chosen(const std::vector<Roof>& roofs, double sign) {
    const auto rank = [sign](const Roof& roof) {
        return std::tuple{!roof.emphasised, roof.evidence != Evidence::measured,
                          sign * value_of(roof)};
    };
    const auto best =
        std::min_element(roofs.begin(), roofs.end(),
                         [&rank](const Roof& a, const Roof& b) { return rank(a) < rank(b); });
    return best == roofs.end() ? nullptr : &*best;
}

struct Ranges {
    Range x;
    Range y;
};

/// Holds every point and ridge, with room to read the slanted roofs left of the first ridge.
Ranges automatic_ranges(const Roofline& roofline) {
    std::vector<double> xs;
    std::vector<double> ys;
    for (const OperationPoint& point : roofline.points) {
        if (!drawable(point.x, Scale::log) || !drawable(point.y, Scale::log)) continue;
        xs.push_back(point.x);
        ys.push_back(point.y);
        if (point.low) ys.push_back(*point.low);
        if (point.high) ys.push_back(*point.high);
    }
    double top_rate = 0.0;
    for (const ComputeRoof& roof : roofline.compute) top_rate = std::max(top_rate, roof.rate);
    for (const MemoryRoof& roof : roofline.memory) {
        for (const ComputeRoof& pipe : roofline.compute) xs.push_back(pipe.rate / roof.slope);
    }
    for (const ComputeRoof& roof : roofline.compute) ys.push_back(roof.rate);
    Range x = range_of(xs, Scale::log);
    x = {.low = x.low / 2.5, .high = x.high * 4.0};
    if (x.high / x.low < 1e3) x = {.low = x.low / 5.0, .high = x.high * 5.0};
    x = rounded_out(x, Scale::log);
    for (const MemoryRoof& roof : roofline.memory) {
        ys.push_back(roof.slope * x.low * 2.0);
        if (roofline.compute.empty()) ys.push_back(roof.slope * x.high);
    }
    const Range y = range_of(ys, Scale::log);
    return {.x = x,
            .y = rounded_out({.low = y.low / 1.4, .high = std::max(y.high * 1.5, top_rate * 2.2)},
                             Scale::log)};
}

std::string labelled(const std::string& name, const std::string& value) {
    return value.empty() ? name : fmt::format("{} {}", name, value);
}

Style roof_style(Color color, Evidence evidence, bool emphasised) {
    return {.color = color,
            .dash = evidence == Evidence::measured ? Dash::solid : Dash::dashed,
            .width = emphasised ? 2.0 : 1.5};
}

/// Roofs of one name share a colour, measured or not.
template <class Palette>
Color color_of(std::map<std::string, std::size_t>& seen, const std::string& name,
               const Palette& palette) {
    const std::size_t index = seen.try_emplace(name, seen.size()).first->second;
    return palette.at(index % palette.size());
}

template <class Roof>
double extreme_value(const std::vector<Roof>& roofs, Evidence evidence) {
    double best = 0.0;
    bool same_evidence = false;
    for (const Roof& roof : roofs) {
        const bool same = roof.evidence == evidence;
        if (same && !same_evidence) best = 0.0;
        same_evidence = same_evidence || same;
        if (same || !same_evidence) best = std::max(best, value_of(roof));
    }
    return best;
}

bool both_evidences(const Roofline& roofline) {
    int measured = 0;
    int datasheet = 0;
    const auto count = [&](const auto& roofs) {
        for (const auto& roof : roofs)
            ++(roof.evidence == Evidence::measured ? measured : datasheet);
    };
    count(roofline.memory);
    count(roofline.compute);
    return measured > 0 && datasheet > 0;
}

void add_roofs(Chart& chart, const Roofline& roofline) {
    std::map<std::string, std::size_t> memory_seen;
    std::map<std::string, std::size_t> compute_seen;
    const bool both = both_evidences(roofline);
    const auto text = [both](const auto& roof) {
        const bool paper = both && roof.evidence == Evidence::datasheet;
        return labelled(roof.name, roof.value) + (paper ? " (datasheet)" : "");
    };
    for (const MemoryRoof& roof : roofline.memory) {
        const double top = extreme_value(roofline.compute, roof.evidence);
        const double end =
            top > 0.0 ? std::min(top / roof.slope, chart.x_range.high) : chart.x_range.high;
        const double start = std::min(chart.x_range.low, end);
        chart.curves.push_back(
            {.role = CurveRole::roof,
             .name = text(roof),
             .vertices = {{.x = start, .y = roof.slope * start}, {.x = end, .y = roof.slope * end}},
             .style = roof_style(color_of(memory_seen, roof.name, memory_colors), roof.evidence,
                                 roof.emphasised),
             .lettering = Lettering::along,
             .prefer = 0.35,
             .terms = roof.terms});
    }
    for (const ComputeRoof& roof : roofline.compute) {
        const double fastest = extreme_value(roofline.memory, roof.evidence);
        const double start =
            fastest > 0.0 ? std::max(roof.rate / fastest, chart.x_range.low) : chart.x_range.low;
        const double end = std::max(chart.x_range.high, start);
        chart.curves.push_back(
            {.role = CurveRole::roof,
             .name = text(roof),
             .vertices = {{.x = start, .y = roof.rate}, {.x = end, .y = roof.rate}},
             .style = roof_style(color_of(compute_seen, roof.name, compute_colors), roof.evidence,
                                 roof.emphasised),
             .lettering = Lettering::along,
             .prefer = 1.0,
             .terms = roof.terms});
    }
}

/// The attainable rate min(slope * x, rate) as a thick line over a tinted region.
void add_envelope(Chart& chart, const Ridge& ridge) {
    const Range& x = chart.x_range;
    std::vector<Vertex> edge;
    const auto attainable = [&ridge](double at) {
        const double slanted = ridge.memory != nullptr ? ridge.memory->slope * at : HUGE_VAL;
        return std::min(slanted, ridge.compute != nullptr ? ridge.compute->rate : HUGE_VAL);
    };
    edge.push_back({.x = x.low, .y = attainable(x.low)});
    if (ridge.complete()) {
        const double at = ridge.compute->rate / ridge.memory->slope;
        if (at > x.low && at < x.high) edge.push_back({.x = at, .y = ridge.compute->rate});
    }
    edge.push_back({.x = x.high, .y = attainable(x.high)});
    chart.bands.push_back(
        {.name = "attainable",
         .low = {{.x = x.low, .y = chart.y_range.low}, {.x = x.high, .y = chart.y_range.low}},
         .high = edge,
         .color = Color::blue,
         .opacity = 0.05});
    chart.curves.push_back({.role = CurveRole::envelope,
                            .name = "attainable",
                            .vertices = std::move(edge),
                            .style = {.color = Color::ink, .dash = Dash::solid, .width = 7.0},
                            .terms = {}});
}

void add_ridge(Chart& chart, const MemoryRoof& memory, const ComputeRoof& compute, bool main) {
    const double x = compute.rate / memory.slope;
    if (x < chart.x_range.low || x > chart.x_range.high) return;
    const std::string value = labelled(number_text(x), chart.x.unit);
    chart.annotations.push_back(
        {.text = main ? "ridge " + value : short_number_text(x),
         .name = fmt::format("Ridge of {} and {}", memory.name, compute.name),
         .x = x,
         .y = compute.rate,
         .style = {.color = Color::ink, .marker = Marker::diamond},
         .drop_line = main,
         .left_of_drop = main ? "memory-bound" : "",
         .right_of_drop = main ? "compute-bound" : "",
         .terms = {{.name = "Ridge point", .value = value}}});
}

/// The main ridge first, then where the emphasised roofs meet the others of the same evidence.
void add_ridges(Chart& chart, const Roofline& roofline, const Ridge& ridge) {
    if (!ridge.complete()) return;
    add_ridge(chart, *ridge.memory, *ridge.compute, true);
    for (const MemoryRoof& roof : roofline.memory) {
        if (&roof == ridge.memory || roof.evidence != ridge.memory->evidence) continue;
        add_ridge(chart, roof, *ridge.compute, false);
    }
    for (const ComputeRoof& roof : roofline.compute) {
        if (&roof == ridge.compute || roof.evidence != ridge.compute->evidence) continue;
        add_ridge(chart, *ridge.memory, roof, false);
    }
}

/// One label per name: the first measured point carries it, else the first predicted one.
void add_points(Chart& chart, const Roofline& roofline) {
    std::map<std::string, std::array<std::vector<std::size_t>, 2>> by_name;
    for (std::size_t i = 0; i < roofline.points.size(); ++i) {
        const OperationPoint& point = roofline.points[i];
        by_name[point.name].at(point.origin == Origin::measured ? 1 : 0).push_back(i);
        chart.marks.push_back({.name = point.name,
                               .series = {},
                               .x = point.x,
                               .y = point.y,
                               .low = point.low,
                               .high = point.high,
                               .origin = point.origin,
                               .style = {.color = Color::ink},
                               .radius = 4.5,
                               .labelled = true,
                               .terms = point.terms});
    }
    for (const auto& [name, indices] : by_name) {
        const auto& [predicted, measured] = indices;
        const std::size_t pairs = std::min(predicted.size(), measured.size());
        for (std::size_t i = 0; i < pairs; ++i) {
            chart.links.push_back({.from = predicted[i], .to = measured[i]});
            chart.marks[predicted[i]].labelled = false;
        }
    }
    std::sort(chart.links.begin(), chart.links.end(),
              [](const Link& a, const Link& b) { return a.from < b.from; });
}

void add_samples(Chart& chart, const Roofline& roofline) {
    const auto has = [&](Origin origin) {
        return std::any_of(roofline.points.begin(), roofline.points.end(),
                           [origin](const OperationPoint& p) { return p.origin == origin; });
    };
    if (has(Origin::predicted) && has(Origin::measured)) {
        chart.samples.push_back({.text = "measured", .style = {}, .marker = Origin::measured});
        chart.samples.push_back({.text = "predicted", .style = {}, .marker = Origin::predicted});
    }
    if (both_evidences(roofline)) {
        const Style solid = {.color = Color::grey, .dash = Dash::solid};
        const Style dashed = {.color = Color::grey, .dash = Dash::dashed};
        chart.samples.push_back(
            {.text = "measured roof", .style = solid, .marker = {}, .line = true});
        chart.samples.push_back(
            {.text = "datasheet roof", .style = dashed, .marker = {}, .line = true});
    }
}

}  // namespace

Chart roofline_chart(const Roofline& roofline) {
    for (const MemoryRoof& roof : roofline.memory) require_drawable(roof.slope, roof.name);
    for (const ComputeRoof& roof : roofline.compute) require_drawable(roof.rate, roof.name);
    Chart chart;
    chart.title = roofline.title;
    chart.subtitle = roofline.subtitle;
    chart.x = roofline.x;
    chart.y = roofline.y;
    chart.x.scale = chart.y.scale = Scale::log;
    const Ranges automatic = automatic_ranges(roofline);
    chart.x_range = resolved(chart.x, automatic.x);
    chart.y_range = resolved(chart.y, automatic.y);
    const Ridge ridge = {.memory = chosen(roofline.memory, 1.0),
                         .compute = chosen(roofline.compute, -1.0)};
    if (ridge.memory != nullptr || ridge.compute != nullptr) add_envelope(chart, ridge);
    add_roofs(chart, roofline);
    add_ridges(chart, roofline, ridge);
    add_points(chart, roofline);
    add_samples(chart, roofline);
    chart.notes = roofline.notes;
    return without_undrawable(std::move(chart));
}

}  // namespace ridge::plot
