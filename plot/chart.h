// A chart as a value: axes with ranges, curves, bands, marks and annotations in data coordinates.
//
// `roofline.h`, `sweep.h` and `scatter.h` build charts from what is to be shown; `layout.h` places
// one on a page, `svg.h` and `html.h` write it, `terminal.h` draws it with characters. A chart
// knows nothing of GPUs: the caller fills in names, numbers and the terms of the tooltips.
//
//   const Chart chart = roofline_chart({.title = "H100 SXM, bf16", ...});
//   write_chart("roofline.svg", chart);
//
// Strings may hold anything; what is not UTF-8 is replaced when it is drawn.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ridge::plot {

enum class Scale { linear, log };

struct Range {
    double low = 0.0;
    double high = 1.0;
};

/// An axis as the caller wants it; limits that are absent follow from the data.
struct Axis {
    std::string title = {};
    std::string unit = {};
    Scale scale = Scale::linear;
    std::optional<double> low = {};
    std::optional<double> high = {};
};

/// One line of a tooltip and one cell of the table: "DRAM time", "12.3 us".
struct Term {
    std::string name = {};
    std::string value = {};
};

/// The palette of Okabe and Ito, which the colour-blind can tell apart, without its yellow (too
/// pale on white).
enum class Color { ink, blue, vermillion, green, purple, orange, sky, grey };

enum class Dash { solid, dashed, dotted, dash_dot, long_dash };

enum class Marker { circle, square, triangle, diamond, wedge, pentagon, plus, cross };

/// Predicted points are hollow, measured ones filled.
enum class Origin { predicted, measured };

/// How a class of points or lines looks. Classes differ in colour, shape and dashes at once.
struct Style {
    Color color = Color::ink;
    Dash dash = Dash::solid;
    Marker marker = Marker::circle;
    double width = 1.5;
};

/// Style number `index` of a sequence that repeats late.
[[nodiscard]] Style class_style(std::size_t index);

struct Vertex {
    double x = 0.0;
    double y = 0.0;
};

enum class CurveRole { roof, envelope, series, reference };

/// Whether a curve's name is written along it; the names of series stand in the side list.
enum class Lettering { none, along };

struct Curve {
    CurveRole role = CurveRole::series;
    std::string name = {};
    std::vector<Vertex> vertices = {};
    Style style = {};
    Lettering lettering = Lettering::none;
    double prefer = 0.5;  ///< where along the curve its name is best, 0 to 1
    std::vector<Term> terms = {};
};

/// A filled region between two edges.
struct Band {
    std::string name = {};
    std::vector<Vertex> low = {};
    std::vector<Vertex> high = {};
    Color color = Color::grey;
    double opacity = 0.1;
};

struct Mark {
    std::string name = {};
    std::string series = {};  ///< class, may be empty
    double x = 0.0;
    double y = 0.0;
    std::optional<double> low = {};  ///< error bar, in y
    std::optional<double> high = {};
    Origin origin = Origin::predicted;
    Style style = {};
    double radius = 4.5;
    bool labelled = true;  ///< whether the name is written beside the mark
    std::vector<Term> terms = {};
};

/// Joins two marks by index, such as predicted and measured of one operation.
struct Link {
    std::size_t from = 0;
    std::size_t to = 0;
};

/// A marked place with a text, such as a ridge point.
struct Annotation {
    std::string text = {};
    std::string name = {};
    double x = 0.0;
    double y = 0.0;
    Style style = {};
    bool drop_line = false;  ///< with a line down to the x axis
    std::string left_of_drop = {};
    std::string right_of_drop = {};
    std::vector<Term> terms = {};
};

/// An entry of the list in the right margin: a class with its sample. With an anchor it stands at
/// the height of that point and a line leads to it.
struct SideEntry {
    std::string name = {};
    std::string detail = {};
    Style style = {};
    bool line = false;
    bool marker = true;
    Origin origin = Origin::predicted;
    std::optional<Vertex> anchor = {};
};

/// A sample with its meaning beneath the chart: hollow is predicted, dashed is the datasheet.
struct Sample {
    std::string text = {};
    Style style = {};
    std::optional<Origin> marker = {};
    bool line = false;
};

enum class Aspect { fill, square };

struct Chart {
    std::string title = {};
    std::string subtitle = {};
    Axis x = {};
    Axis y = {};
    Range x_range = {};
    Range y_range = {};
    Aspect aspect = Aspect::fill;
    std::vector<Band> bands = {};
    std::vector<Curve> curves = {};
    std::vector<Mark> marks = {};
    std::vector<Link> links = {};
    std::vector<Annotation> annotations = {};
    std::vector<SideEntry> side = {};
    std::vector<Sample> samples = {};
    std::vector<std::string> notes = {};
};

/// "Arithmetic intensity (FLOP/B)"
[[nodiscard]] std::string axis_text(const Axis& axis);

/// The chart without the marks that its axes cannot show (not finite, not positive on a logarithmic
/// axis, outside the ranges), and a note that says how many those were. Links follow.
[[nodiscard]] Chart without_undrawable(Chart chart);

}  // namespace ridge::plot
