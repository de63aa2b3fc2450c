#include "plot/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "hardware/algorithms.h"
#include "hardware/error.h"
#include "plot/text.h"
#include "plot/ticks.h"

namespace ridge::plot {

namespace {

void require_drawable(double value, const std::string& name) {
    if (drawable(value, Scale::log)) return;
    throw InputError(fmt::format("the roof '{}' has the value {}", clean_text(name), value), {},
                     "a roof is a positive, finite number");
}

/// The roofs that define the envelope; null if there is none.
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

/// Contains every point and ridge point, with room to read the slanted roofs left of the first
/// ridge point.
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

Style roof_style(Resource resource, Evidence evidence, bool emphasised) {
    return {.color = color_of(resource),
            .dash = evidence == Evidence::measured ? Dash::solid : Dash::dashed,
            .width = emphasised ? 2.2 : 1.5};
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

/// Types with the same roofs share one roof: "bf16, fp16 tensor".
std::vector<ComputeRoof> merged(const std::vector<ComputeRoof>& roofs) {
    std::vector<ComputeRoof> out;
    for (const ComputeRoof& roof : roofs) {
        const auto same = algorithms::find_if(out, [&roof](const ComputeRoof& other) {
            return other.resource == roof.resource && other.evidence == roof.evidence &&
                   other.name == roof.name && other.value == roof.value;
        });
        if (same == out.end()) {
            out.push_back(roof);
            continue;
        }
        if (same->type != roof.type) same->type += ", " + roof.type;
        same->emphasised = same->emphasised || roof.emphasised;
    }
    return out;
}

std::string name_of(const MemoryRoof& roof) {
    return roof.name;
}
std::string name_of(const ComputeRoof& roof) {
    return roof.type.empty() ? roof.name : fmt::format("{} {}", roof.type, roof.name);
}

void add_roof(Chart& chart, std::string name, std::vector<Vertex> vertices, const Style& style,
              double prefer, const std::vector<Term>& terms) {
    chart.samples.push_back({.name = name, .style = style, .line = true});
    chart.curves.push_back({.role = CurveRole::roof,
                            .name = name,
                            .series = name,
                            .vertices = std::move(vertices),
                            .style = style,
                            .lettering = Lettering::along,
                            .prefer = prefer,
                            .terms = terms});
}

template <class Roof>
std::string roof_text(const Roof& roof) {
    return fmt::format("{}, {}", labelled(name_of(roof), roof.value),
                       roof.evidence == Evidence::measured ? "measured" : "datasheet");
}

void add_roofs(Chart& chart, const Roofline& roofline) {
    for (const MemoryRoof& roof : roofline.memory) {
        const double top = extreme_value(roofline.compute, roof.evidence);
        const double end =
            top > 0.0 ? std::min(top / roof.slope, chart.x_range.high) : chart.x_range.high;
        const double start = std::min(chart.x_range.low, end);
        add_roof(chart, roof_text(roof),
                 {{.x = start, .y = roof.slope * start}, {.x = end, .y = roof.slope * end}},
                 roof_style(roof.resource, roof.evidence, roof.emphasised), 0.35, roof.terms);
    }
    for (const ComputeRoof& roof : roofline.compute) {
        const double fastest = extreme_value(roofline.memory, roof.evidence);
        const double start =
            fastest > 0.0 ? std::max(roof.rate / fastest, chart.x_range.low) : chart.x_range.low;
        const double end = std::max(chart.x_range.high, start);
        add_roof(chart, roof_text(roof), {{.x = start, .y = roof.rate}, {.x = end, .y = roof.rate}},
                 roof_style(roof.resource, roof.evidence, roof.emphasised), 1.0, roof.terms);
    }
}

/// The attainable performance min(slope * x, rate) as a thick line over a tinted region.
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

enum class RidgeText { main, value, none };

void add_ridge(Chart& chart, const MemoryRoof& memory, const ComputeRoof& compute, RidgeText text) {
    const double x = compute.rate / memory.slope;
    if (x < chart.x_range.low || x > chart.x_range.high) return;
    const bool main = text == RidgeText::main;
    const std::string value = labelled(number_text(x), chart.x.unit);
    chart.annotations.push_back(
        {.text = main                       ? "ridge " + value
                 : text == RidgeText::value ? short_number_text(x)
                                            : "",
         .name = fmt::format("Ridge of {} and {}", memory.name, name_of(compute)),
         .x = x,
         .y = compute.rate,
         .style = {.color = Color::ink, .marker = Marker::diamond},
         .drop_line = main,
         .left_of_drop = main ? "memory-bound" : "",
         .right_of_drop = main ? "compute-bound" : "",
         .terms = {{.name = "Ridge point", .value = value}}});
}

/// The main ridge point first, then those where the emphasised roofs meet the others of the same
/// source.
void add_ridges(Chart& chart, const Roofline& roofline, const Ridge& ridge) {
    if (!ridge.complete()) return;
    constexpr std::size_t most_texts = 8;
    const bool few = roofline.memory.size() + roofline.compute.size() <= most_texts;
    const RidgeText text = few ? RidgeText::value : RidgeText::none;
    add_ridge(chart, *ridge.memory, *ridge.compute, RidgeText::main);
    for (const MemoryRoof& roof : roofline.memory) {
        if (&roof == ridge.memory || roof.evidence != ridge.memory->evidence) continue;
        add_ridge(chart, roof, *ridge.compute, text);
    }
    for (const ComputeRoof& roof : roofline.compute) {
        if (&roof == ridge.compute || roof.evidence != ridge.compute->evidence) continue;
        add_ridge(chart, *ridge.memory, roof, text);
    }
}

/// Shapes by class, in the order in which the classes appear.
class Shapes {
  public:
    Marker of(const std::string& series) {
        return class_style(seen_.try_emplace(series, seen_.size()).first->second).marker;
    }

  private:
    std::map<std::string, std::size_t> seen_;
};

/// The measured point carries the label if there is one, otherwise the predicted point.
void add_points(Chart& chart, const Roofline& roofline) {
    using Pair = std::pair<std::string_view, std::optional<Resource>>;
    std::map<Pair, std::array<std::vector<std::size_t>, 2>> by_name;
    Shapes shapes;
    const double radius = roofline.points.size() > 60 ? 3.6 : 4.5;
    for (std::size_t i = 0; i < roofline.points.size(); ++i) {
        const OperationPoint& point = roofline.points[i];
        by_name[{point.name, point.level}]
            .at(point.origin == Origin::measured ? 1 : 0)
            .push_back(i);
        chart.marks.push_back({.name = point.name,
                               .series = point.series,
                               .level = point.level ? std::string(name_of(*point.level)) : "",
                               .x = point.x,
                               .y = point.y,
                               .low = point.low,
                               .high = point.high,
                               .origin = point.origin,
                               .style = {.color = point.level ? color_of(*point.level) : Color::ink,
                                         .marker = shapes.of(point.series)},
                               .radius = point.radius.value_or(radius),
                               .order = point.order,
                               .terms = point.terms});
    }
    for (const auto& [name, indices] : by_name) {
        const auto& [predicted, measured] = indices;
        const std::size_t pairs = std::min(predicted.size(), measured.size());
        for (std::size_t i = 0; i < pairs; ++i) {
            chart.links.push_back({.from = predicted[i], .to = measured[i]});
            chart.marks[predicted[i]].labelled = false;
            // A ring stays visible if the two coincide.
            chart.marks[predicted[i]].radius += 1.2;
        }
    }
    // A name at several levels is written once; numbers are short enough to be written at each
    // level.
    std::set<std::string_view> names;
    for (const Mark& mark : chart.marks) names.insert(mark.name);
    if (names.size() <= most_named) {
        for (Mark& mark : chart.marks) {
            mark.labelled = mark.labelled && names.erase(mark.name) > 0;
        }
    }
    algorithms::stable_sort(chart.links, std::less<>(), &Link::from);
}

/// Explains the fill of marks, shapes and colours of the points; the roofs follow.
void add_samples(Chart& chart) {
    std::vector<LegendEntry> entries;
    const auto has = [&chart](Origin origin) {
        return algorithms::any_of(chart.marks,
                                  [origin](const Mark& mark) { return mark.origin == origin; });
    };
    if (has(Origin::measured)) entries.push_back({.name = "measured", .marker = Origin::measured});
    if (has(Origin::calibrated)) {
        entries.push_back({.name = "calibrated", .marker = Origin::calibrated});
    }
    if (has(Origin::predicted)) {
        entries.push_back({.name = "predicted", .marker = Origin::predicted});
    }
    const Origin strongest = has(Origin::measured)     ? Origin::measured
                             : has(Origin::calibrated) ? Origin::calibrated
                                                       : Origin::predicted;
    const auto add_classes = [&](std::string Mark::*member, auto style_of) {
        std::vector<const Mark*> firsts;
        for (const Mark& mark : chart.marks) {
            const bool known = algorithms::any_of(
                firsts, [&](const Mark* first) { return first->*member == mark.*member; });
            if (!known && !(mark.*member).empty()) firsts.push_back(&mark);
        }
        for (const Mark* const first : firsts) {
            entries.push_back(
                {.name = first->*member, .style = style_of(*first), .marker = strongest});
        }
    };
    add_classes(&Mark::level, [](const Mark& mark) { return Style{.color = mark.style.color}; });
    add_classes(&Mark::series, [](const Mark& mark) { return Style{.marker = mark.style.marker}; });
    if (has(Origin::calibrated)) entries.push_back({.name = calibrated_words});
    chart.samples.insert(chart.samples.begin(), entries.begin(), entries.end());
}

}  // namespace

Color color_of(Resource resource) {
    constexpr std::array colors = {Color::blue, Color::green, Color::purple, Color::vermillion,
                                   Color::orange};
    return colors.at(static_cast<std::size_t>(resource));
}

std::string_view name_of(Resource resource) {
    constexpr std::array<std::string_view, 5> names = {"DRAM", "L2", "shared memory", "tensor",
                                                       "FMA"};
    return names.at(static_cast<std::size_t>(resource));
}

Chart roofline_chart(const Roofline& asked) {
    for (const MemoryRoof& roof : asked.memory) require_drawable(roof.slope, roof.name);
    for (const ComputeRoof& roof : asked.compute) require_drawable(roof.rate, roof.name);
    Roofline roofline = asked;
    roofline.compute = merged(asked.compute);
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
    add_samples(chart);
    chart.notes = roofline.notes;
    chart = without_undrawable(std::move(chart));
    number_marks(chart, roofline.key_terms);
    return chart;
}

}  // namespace ridge::plot
