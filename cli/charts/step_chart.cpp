// The flame graph of a step: a tree of its entries by pass, part, module and operation.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "cli/charts/model_charts.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using programs::Entry;
using programs::Module;

constexpr double frame_width = 700.0;  ///< approximate width of the chart, in pixels
constexpr double letter = 6.6;

struct TimeUnit {
    const char* name;
    Time unit;
};

TimeUnit time_unit_for(Time whole) {
    if (whole >= 2.0 * units::ms) return {.name = "ms", .unit = 1.0 * units::ms};
    return {.name = "us", .unit = 1.0 * units::us};
}

struct Node {
    std::string name;
    plot::Color color = plot::Color::grey;
    Time time{};
    std::int64_t kernels = 0;
    std::vector<Node> children{};
};

plot::Color color_of(Module module) {
    constexpr std::array<plot::Color, programs::module_count> colors{
        plot::Color::grey,        // embedding
        plot::Color::orange,      // norm
        plot::Color::blue,        // attention
        plot::Color::green,       // mlp
        plot::Color::green,       // experts
        plot::Color::sky,         // residual
        plot::Color::purple,      // head
        plot::Color::purple,      // loss
        plot::Color::vermillion,  // optimizer
        plot::Color::vermillion,  // communication
        plot::Color::blue,        // encoder
        plot::Color::grey};       // other
    return colors[static_cast<std::size_t>(module)];
}

Node& child(Node& parent, const std::string& name, plot::Color color) {
    const auto known = std::find_if(parent.children.begin(), parent.children.end(),
                                    [&](const Node& each) { return each.name == name; });
    if (known != parent.children.end()) return *known;
    return parent.children.emplace_back(Node{.name = name, .color = color});
}

std::string part_of(const Entry& entry, std::int64_t layers) {
    if (entry.module == Module::optimizer) return "optimizer";
    if (layers == 0) return entry.first_layer < 0 ? "outside layers" : "layers";
    if (entry.first_layer >= 0 && entry.first_layer < layers) {
        return layers > 1 ? fmt::format("{} layers", layers) : "layer";
    }
    const bool input = entry.module == Module::embedding;
    return input ? "input" : "output";
}

Node tree_of(const StepAnswer& answer) {
    Node root{.name = answer.architecture->name};
    const bool training = answer.request.training();
    const auto& entries = answer.step.program.entries;
    const std::int64_t layers = answer.architecture->layers();
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Entry& entry = entries[i];
        const Time time = time_of(entry, answer.time->gpu.outcomes[i]);
        std::vector<Node*> path{&root};
        const auto into = [&path](const std::string& name, plot::Color color) {
            path.push_back(&child(*path.back(), name, color));
        };
        if (training) into(std::string(name_of(entry.pass)), plot::Color::grey);
        into(part_of(entry, layers), plot::Color::grey);
        into(std::string(name_of(entry.module)), color_of(entry.module));
        into(entry.name.substr(0, entry.name.find(':')), color_of(entry.module));
        for (Node* const node : path) {
            node->time += time;
            node->kernels += entry.count * entry.kernels;
        }
    }
    return root;
}

class Flame {
  public:
    Flame(plot::Chart& chart, Time whole, bool complete, TimeUnit unit, int depth)
        : chart_(chart),
          whole_(whole),
          complete_(complete),
          unit_(unit),
          depth_(depth),
          drawn_(static_cast<std::size_t>(depth)) {}

    void draw(const Node& node, double left, int level) {
        const double width = node.time / unit_.unit;
        const double top = static_cast<double>(depth_ - level) + 0.46;
        const double bottom = static_cast<double>(depth_ - level) - 0.46;
        const std::string share = share_of(node);
        chart_.bands.push_back(
            {.name = fmt::format("{}: {}{}{}", node.name, format(node.time),
                                 share.empty() ? "" : ", ", share),
             .low = {{.x = left, .y = bottom}, {.x = left + width, .y = bottom}},
             .high = {{.x = left, .y = top}, {.x = left + width, .y = top}},
             .color = node.color,
             // Neighbours in a row differ, to show where an operation ends.
             .opacity = (drawn_[static_cast<std::size_t>(level)]++ % 2 == 0) ? 0.5 : 0.3});
        const double end = whole_ / unit_.unit;
        plot::Mark mark{.name = node.name,
                        .x = std::min(left + 0.004 * end, end),
                        .y = static_cast<double>(depth_ - level),
                        .radius = 0.01};
        const double pixels = frame_width * (node.time / whole_);
        mark.labelled = letter * static_cast<double>(node.name.size()) + 10.0 < pixels;
        mark.order = -width;
        mark.terms = {{chart_.x.title, "from " + format(left * unit_.unit)},
                      {"level", chart_.y.names[static_cast<std::size_t>(depth_ - level) - 1]},
                      {"time", format(node.time)},
                      {"kernels", std::to_string(node.kernels)}};
        if (!share.empty()) mark.terms.push_back({"share", share});
        chart_.marks.push_back(std::move(mark));
        for (const Node& each : node.children) {
            draw(each, left, level + 1);
            left += each.time / unit_.unit;
        }
    }

  private:
    /// "12.3 %"; empty if the whole lacks operations.
    [[nodiscard]] std::string share_of(const Node& node) const {
        return complete_ ? format_number(100.0 * (node.time / whole_), 3) + " %" : std::string();
    }

    plot::Chart& chart_;
    Time whole_;
    bool complete_;
    TimeUnit unit_;
    int depth_;
    std::vector<std::size_t> drawn_;  ///< marks drawn in each row
};

}  // namespace

plot::Chart step_chart(const StepAnswer& answer) {
    const Node root = tree_of(answer);
    const TimeUnit unit = time_unit_for(root.time);
    plot::Chart chart;
    const programs::StepTime& time = *answer.time;
    chart.title = fmt::format("{} on {}, {}", title_of(answer), answer.machine->name,
                              name_of(answer.request.software));
    const programs::Totals& total = time.gpu.total;
    const bool complete = total.left_out.empty();
    chart.subtitle = fmt::format(
        "kernels {}{}, host {}, wall {}", model::text_of_sum(total.time, total.left_out),
        complete ? fmt::format(" ({} to {})", format(total.low), format(total.high)) : "",
        format(time.host), model::text_of_sum(time.wall, total.left_out));
    chart.y.names = {"operation", "module", "part"};
    if (answer.request.training()) chart.y.names.emplace_back("pass");
    chart.y.names.emplace_back("step");
    const auto depth = static_cast<int>(chart.y.names.size());
    chart.x = {.title = "Time of the kernels", .unit = unit.name};
    chart.y.title = "";
    chart.x_range = {.low = 0.0, .high = root.time / unit.unit};
    chart.y_range = {.low = 0.5, .high = static_cast<double>(depth) + 0.5};
    Flame(chart, root.time, complete, unit, depth).draw(root, 0.0, 0);
    if (!complete) chart.notes.push_back("Not drawn: " + total.left_out.text() + ".");
    chart.notes.emplace_back("Widths are times in the step; equal layers are merged.");
    return without_undrawable(std::move(chart));
}

}  // namespace ridge::cli
