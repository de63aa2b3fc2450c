// Places labels so that they cover neither each other nor anything drawn.
//
// Every label has candidates: boxes next to its point or along its line, with a cost that grows
// with the distance and, if displaced, a leader line. Candidates that leave the frame or cover a
// marker or a line are discarded. The others are chosen greedily, the most constrained label first,
// improved by simulated annealing with a fixed seed, and refined label by label until nothing
// changes. Labels that still collide are left out, and the caller lists them elsewhere. The same
// input always gives the same placement. Obstacles are found with a grid, and each label is
// compared only with labels that it can reach, so the time grows with the number of labels: 500
// numbers among 1000 markers take some 50 ms.
//
//   place_labels({{.candidates = candidates_beside({400, 300}, 5.0, 80.0, 15.0)}}, obstacles)
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "plot/geometry.h"

namespace ridge::plot {

struct LabelCandidate {
    Box box = {};
    std::optional<Segment> leader = {};
    double cost = 0.0;
};

struct LabelRequest {
    std::vector<LabelCandidate> candidates = {};
    double weight = 1.0;  ///< if two labels still collide, the heavier one stays
};

struct Obstacles {
    Rect frame = {};
    std::vector<Box> boxes = {};      ///< markers
    std::vector<Segment> lines = {};  ///< roofs, series, links, error bars
};

/// A text box of the given size around a point drawn with `radius`: close positions first, then
/// rings up to `reach` pixels away.
[[nodiscard]] std::vector<LabelCandidate> candidates_beside(Vec2 point, double radius, double width,
                                                            double height, double reach = 220.0);

/// Boxes above and below a polyline, turned with it; the best ones are near the fraction `prefer`
/// of its length.
[[nodiscard]] std::vector<LabelCandidate> candidates_along(const std::vector<Vec2>& line,
                                                           double prefer, double line_width,
                                                           double width, double height);

/// For each request the index of its candidate, or nothing if no free place was found.
[[nodiscard]] std::vector<std::optional<std::size_t>> place_labels(
    const std::vector<LabelRequest>& requests, const Obstacles& obstacles);

}  // namespace ridge::plot
