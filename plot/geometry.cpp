#include "plot/geometry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace ridge::plot {

namespace {

struct Axes {
    Vec2 along;
    Vec2 across;
};

Axes axes_of(const Box& box) {
    if (box.angle == 0.0) return {.along = {1.0, 0.0}, .across = {0.0, 1.0}};
    const double radians = box.angle * std::numbers::pi / 180.0;
    const double c = std::cos(radians);
    const double s = std::sin(radians);
    return {.along = {c, s}, .across = {-s, c}};
}

/// Half the extent of a box when projected on a unit direction.
double reach(const Box& box, const Axes& axes, Vec2 direction) {
    return box.half_width * std::abs(dot(axes.along, direction)) +
           box.half_height * std::abs(dot(axes.across, direction));
}

double turn(Vec2 a, Vec2 b, Vec2 c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

}  // namespace

double length(Vec2 a) {
    return std::sqrt(dot(a, a));
}

bool overlap(const Box& a, const Box& b) {
    const Vec2 offset = b.center - a.center;
    if (a.angle == 0.0 && b.angle == 0.0) {
        return std::abs(offset.x) < a.half_width + b.half_width &&
               std::abs(offset.y) < a.half_height + b.half_height;
    }
    const Axes axes_a = axes_of(a);
    const Axes axes_b = axes_of(b);
    const std::array directions = {axes_a.along, axes_a.across, axes_b.along, axes_b.across};
    return std::all_of(directions.begin(), directions.end(), [&](Vec2 direction) {
        return std::abs(dot(offset, direction)) <
               reach(a, axes_a, direction) + reach(b, axes_b, direction);
    });
}

bool overlap(const Box& box, const Segment& segment) {
    const Vec2 from = segment.from - box.center;
    const Vec2 to = segment.to - box.center;
    // Most segments are entirely on one side of the square around the box.
    const double radius = box.half_width + box.half_height;
    if (std::min(from.x, to.x) > radius || std::max(from.x, to.x) < -radius ||
        std::min(from.y, to.y) > radius || std::max(from.y, to.y) < -radius) {
        return false;
    }
    const Axes axes = axes_of(box);
    const Segment local = {.from = {dot(from, axes.along), dot(from, axes.across)},
                           .to = {dot(to, axes.along), dot(to, axes.across)}};
    const Rect rect = {.left = -box.half_width,
                       .top = -box.half_height,
                       .right = box.half_width,
                       .bottom = box.half_height};
    return clip(local, rect).has_value();
}

bool cross(const Segment& a, const Segment& b) {
    const double first = turn(a.from, a.to, b.from) * turn(a.from, a.to, b.to);
    const double second = turn(b.from, b.to, a.from) * turn(b.from, b.to, a.to);
    return first < 0.0 && second < 0.0;
}

bool inside(const Box& box, const Rect& frame) {
    const Axes axes = axes_of(box);
    const double reach_x = reach(box, axes, {1.0, 0.0});
    const double reach_y = reach(box, axes, {0.0, 1.0});
    return box.center.x - reach_x >= frame.left && box.center.x + reach_x <= frame.right &&
           box.center.y - reach_y >= frame.top && box.center.y + reach_y <= frame.bottom;
}

Box grown(const Box& box, double margin) {
    Box out = box;
    out.half_width += margin;
    out.half_height += margin;
    return out;
}

Vec2 nearest_point(const Box& box, Vec2 p) {
    const Axes axes = axes_of(box);
    const Vec2 offset = p - box.center;
    const double u = std::clamp(dot(offset, axes.along), -box.half_width, box.half_width);
    const double v = std::clamp(dot(offset, axes.across), -box.half_height, box.half_height);
    return box.center + u * axes.along + v * axes.across;
}

std::optional<Segment> clip(const Segment& segment, const Rect& frame) {
    const Vec2 d = segment.to - segment.from;
    double enter = 0.0;
    double leave = 1.0;
    const auto cut = [&](double direction, double distance) {
        if (direction == 0.0) return distance >= 0.0;
        const double t = distance / direction;
        if (direction < 0.0) {
            enter = std::max(enter, t);
        } else {
            leave = std::min(leave, t);
        }
        return enter <= leave;
    };
    const bool visible =
        cut(-d.x, segment.from.x - frame.left) && cut(d.x, frame.right - segment.from.x) &&
        cut(-d.y, segment.from.y - frame.top) && cut(d.y, frame.bottom - segment.from.y);
    if (!visible) return std::nullopt;
    return Segment{.from = segment.from + enter * d, .to = segment.from + leave * d};
}

std::vector<std::vector<Vec2>> clip_line(const std::vector<Vec2>& line, const Rect& frame) {
    std::vector<std::vector<Vec2>> parts;
    for (std::size_t i = 1; i < line.size(); ++i) {
        const auto piece = clip({.from = line[i - 1], .to = line[i]}, frame);
        if (!piece) continue;
        const bool joins = !parts.empty() && length(parts.back().back() - piece->from) < 1e-9;
        if (!joins) parts.push_back({piece->from});
        parts.back().push_back(piece->to);
    }
    return parts;
}

std::vector<Vec2> clip_polygon(std::vector<Vec2> polygon, const Rect& frame) {
    struct Edge {
        Vec2 normal;  ///< dot(normal, p) <= limit is inside
        double limit;
    };
    const std::array<Edge, 4> edges = {{{.normal = {-1, 0}, .limit = -frame.left},
                                        {.normal = {1, 0}, .limit = frame.right},
                                        {.normal = {0, -1}, .limit = -frame.top},
                                        {.normal = {0, 1}, .limit = frame.bottom}}};
    for (const Edge& edge : edges) {
        std::vector<Vec2> kept;
        for (std::size_t i = 0; i < polygon.size(); ++i) {
            const Vec2 a = polygon[i];
            const Vec2 b = polygon[(i + 1) % polygon.size()];
            const double outside_a = dot(edge.normal, a) - edge.limit;
            const double outside_b = dot(edge.normal, b) - edge.limit;
            if (outside_a <= 0.0) kept.push_back(a);
            if ((outside_a < 0.0 && outside_b > 0.0) || (outside_a > 0.0 && outside_b < 0.0)) {
                kept.push_back(a + (outside_a / (outside_a - outside_b)) * (b - a));
            }
        }
        polygon = std::move(kept);
    }
    return polygon;
}

}  // namespace ridge::plot
