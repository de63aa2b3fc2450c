// Plane geometry in pixels for layout: points, segments, rectangles and rotated boxes.
//
// y grows downwards, angles are in degrees and turn clockwise, as in SVG. Two rotated boxes are
// compared by the separating-axis test.
#pragma once

#include <optional>
#include <vector>

namespace ridge::plot {

struct Vec2 {
    double x = 0.0;
    double y = 0.0;

    friend constexpr bool operator==(const Vec2&, const Vec2&) = default;
};

[[nodiscard]] constexpr Vec2 operator+(Vec2 a, Vec2 b) {
    return {a.x + b.x, a.y + b.y};
}
[[nodiscard]] constexpr Vec2 operator-(Vec2 a, Vec2 b) {
    return {a.x - b.x, a.y - b.y};
}
[[nodiscard]] constexpr Vec2 operator*(double f, Vec2 a) {
    return {f * a.x, f * a.y};
}
[[nodiscard]] constexpr double dot(Vec2 a, Vec2 b) {
    return a.x * b.x + a.y * b.y;
}
[[nodiscard]] double length(Vec2 a);

struct Segment {
    Vec2 from = {};
    Vec2 to = {};
};

struct Rect {
    double left = 0.0;
    double top = 0.0;
    double right = 0.0;
    double bottom = 0.0;

    [[nodiscard]] constexpr double width() const { return right - left; }
    [[nodiscard]] constexpr double height() const { return bottom - top; }
    [[nodiscard]] constexpr bool contains(Vec2 p) const {
        return p.x >= left && p.x <= right && p.y >= top && p.y <= bottom;
    }
};

/// A rectangle turned about its centre.
struct Box {
    Vec2 center = {};
    double half_width = 0.0;
    double half_height = 0.0;
    double angle = 0.0;  ///< degrees, clockwise
};

[[nodiscard]] bool overlap(const Box& a, const Box& b);
[[nodiscard]] bool overlap(const Box& box, const Segment& segment);
[[nodiscard]] bool cross(const Segment& a, const Segment& b);
[[nodiscard]] bool inside(const Box& box, const Rect& frame);

/// The box with `margin` added on every side.
[[nodiscard]] Box grown(const Box& box, double margin);

/// The point of the box nearest to `p`.
[[nodiscard]] Vec2 nearest_point(const Box& box, Vec2 p);

/// The part of a segment within the frame.
[[nodiscard]] std::optional<Segment> clip(const Segment& segment, const Rect& frame);

/// The parts of a polyline within the frame.
[[nodiscard]] std::vector<std::vector<Vec2>> clip_line(const std::vector<Vec2>& line,
                                                       const Rect& frame);

/// The part of a polygon within the frame.
[[nodiscard]] std::vector<Vec2> clip_polygon(std::vector<Vec2> polygon, const Rect& frame);

}  // namespace ridge::plot
