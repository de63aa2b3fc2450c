#include "plot/span_layout.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plot/ticks.h"

namespace ridge::plot {

std::vector<PlacedSpan> place_spans(const Chart& chart, const Rect& frame) {
    constexpr double half_height = 0.36;  // of a lane
    constexpr double least = 0.5;         // pixels
    const auto at_x = [&](double x) {
        return frame.left + position(x, chart.x_range, chart.x.scale) * frame.width();
    };
    const auto at_y = [&](double y) {
        return frame.bottom - position(y, chart.y_range, chart.y.scale) * frame.height();
    };
    std::vector<PlacedSpan> out;
    std::map<std::pair<double, Color>, std::size_t> last;
    for (const Span& span : chart.spans) {
        const Color color = chart.span_sorts.at(span.sort).color;
        const double left = at_x(span.from);
        const double right = std::max(at_x(span.to), left + least);
        const auto [place, first] = last.emplace(std::pair(span.lane, color), out.size());
        if (!first && left < out[place->second].box.right + least / 2) {
            double& end = out[place->second].box.right;
            end = std::max(end, right);
            continue;
        }
        place->second = out.size();
        out.push_back({.box = {.left = left,
                               .top = at_y(span.lane + half_height),
                               .right = right,
                               .bottom = at_y(span.lane - half_height)},
                       .color = color});
    }
    return out;
}

PageSize page_of(const Chart& chart, PageSize page) {
    constexpr double beside_lanes = 190.0;
    constexpr double lane = 44.0;
    if (chart.spans.empty()) return page;
    const auto lanes = static_cast<double>(chart.y.names.size());
    const double height = std::max(least_page_height, beside_lanes + lane * lanes);
    return {.width = page.width, .height = std::min(page.height, height)};
}

}  // namespace ridge::plot
