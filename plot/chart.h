// A chart as a value: axes with ranges, curves, bands, marks and annotations in data coordinates.
//
// `roofline.h`, `sweep.h` and `scatter.h` build charts from data; `layout.h` places a chart on a
// page, `svg.h` and `html.h` write it, `terminal.h` draws it with characters. A chart knows nothing
// about GPUs: the caller fills in names, numbers and the terms of the tooltips.
//
//   const Chart chart = roofline_chart({.title = "H100 SXM, bf16", ...});
//   write_chart("roofline.svg", chart);
//
// These rules hold for every builder: filled marks are measured; predicted ones are half filled
// where such kernels were measured on this GPU or a relative, and hollow elsewhere; a legend
// explains fills, colours, shapes and dashes; if more than `most_named` names would be labelled, the marks
// carry numbers, which one key explains.
//
// Your own builder fills in a `Chart`: axes with ranges (`ticks.h` rounds them), curves and marks
// with the name of their series, and a legend entry of the same name for each series, with which a
// page switches the series. `number_marks` and `without_undrawable` finish the chart.
//
// Strings may contain anything; bytes that are not UTF-8 are replaced when they are drawn.
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

/// An axis as the caller specifies it; missing limits follow from the data.
struct Axis {
    std::string title = {};
    std::string unit = {};
    Scale scale = Scale::linear;
    std::optional<double> low = {};
    std::optional<double> high = {};
    /// Names instead of numbers, at 1, 2, 3 ...
    std::vector<std::string> names = {};
    /// On a logarithmic axis: ticks are at this value times the powers of two.
    std::optional<double> doubling = {};
};

/// One line of a tooltip and one cell of the table: "DRAM time", "12.3 us".
struct Term {
    std::string name = {};
    std::string value = {};
    std::optional<double> number = {};  ///< sorts the table's column; without it the text does
};

/// The palette of Okabe and Ito, which colour-blind readers can distinguish, without its yellow
/// (too pale on white).
enum class Color { ink, blue, vermillion, green, purple, orange, sky, grey, silver };

enum class Dash { solid, dashed, dotted, dash_dot, long_dash };

/// Shapes with an interior, so that each can be hollow or filled.
enum class Marker { circle, square, triangle, diamond, wedge, pentagon, star, arrow };

/// What a mark rests on, shown by its fill: hollow, half and filled. `calibrated` is a prediction
/// where such kernels were measured on this GPU or a relative.
enum class Origin { predicted, calibrated, measured };

/// How a class of points or lines looks. Classes differ in colour, shape and dashes at the same
/// time.
struct Style {
    Color color = Color::ink;
    Dash dash = Dash::solid;
    Marker marker = Marker::circle;
    double width = 1.5;
};

/// Style number `index` of a sequence that repeats only after many styles.
[[nodiscard]] Style class_style(std::size_t index);

struct Vertex {
    double x = 0.0;
    double y = 0.0;
};

enum class CurveRole { roof, envelope, series, reference };

/// Whether a curve's name is written along it; the legend gives the name in any case.
enum class Lettering { none, along };

struct Curve {
    CurveRole role = CurveRole::series;
    std::string name = {};
    std::string series = {};            ///< class, may be empty
    std::optional<Origin> origin = {};  ///< origin of the points that the curve joins
    std::vector<Vertex> vertices = {};
    Style style = {};
    Lettering lettering = Lettering::none;
    double prefer = 0.5;  ///< best position of its name along the curve, 0 to 1
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
    std::string level = {};   ///< a second class, such as the memory level; may be empty
    double x = 0.0;
    double y = 0.0;
    std::optional<double> low = {};  ///< error bar, in y
    std::optional<double> high = {};
    Origin origin = Origin::predicted;
    Style style = {};
    double radius = 4.5;
    bool labelled = true;  ///< whether the name, or the number, is written next to the mark
    int number = 0;        ///< of its row in the key, from 1; 0: labelled by its name
    double order = 0.0;    ///< sorts the key, for example by time
    std::vector<Term> terms = {};
    std::string kind = {};  ///< if it is neither predicted nor measured: "datasheet"
};

/// The common properties of bars of a timeline: their name, the class that the legend switches, the
/// terms of their tooltips.
struct SpanSort {
    std::string name = {};
    std::string series = {};
    Color color = Color::grey;
    std::vector<Term> terms = {};
};

/// A bar of a timeline. The bars of one lane are in order of `from`.
struct Span {
    double from = 0.0;
    double to = 0.0;
    double lane = 1.0;  ///< position on the y axis
    std::size_t sort = 0;
};

/// What the legend of a chart says about half-filled marks.
inline constexpr const char* calibrated_words =
    "calibrated: predicted where such kernels were measured on this GPU or a relative";

/// Joins two marks by index, for example predicted and measured of one operation.
struct Link {
    std::size_t from = 0;
    std::size_t to = 0;
};

/// A marked position with a text, such as a ridge point.
struct Annotation {
    std::string text = {};
    std::string name = {};
    double x = 0.0;
    double y = 0.0;
    Style style = {};
    bool drop_line = false;  ///< draws a line down to the x axis
    std::string left_of_drop = {};
    std::string right_of_drop = {};
    std::vector<Term> terms = {};
};

/// A sample with its meaning. In a page, an entry switches everything that has its name as series
/// or level; the entries "measured", "calibrated" and "predicted" switch the marks
/// of that origin.
struct LegendEntry {
    std::string name = {};
    std::string detail = {};  ///< second line, in the right margin only
    Style style = {};
    bool line = false;
    std::optional<Origin> marker = {};
    std::optional<Vertex> anchor = {};  ///< placed at the height of this point, with a line to it
};

/// What the numbers of marks mean, one row each, with full names.
struct Key {
    struct Row {
        int number = 0;
        std::vector<std::string> cells = {};  ///< one per column
    };
    std::vector<std::string> columns = {};  ///< the first column names the operation
    std::vector<Row> rows = {};
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
    std::vector<SpanSort> span_sorts = {};
    std::vector<Span> spans = {};  ///< a chart with spans zooms only along x
    std::vector<Link> links = {};
    std::vector<Annotation> annotations = {};
    std::vector<LegendEntry> legend = {};   ///< in the right margin: classes
    std::vector<LegendEntry> samples = {};  ///< below the chart: roofs, hollow and filled, dashes
    Key key = {};
    std::vector<std::string> notes = {};
};

/// "Arithmetic intensity (FLOP/B)"
[[nodiscard]] std::string axis_text(const Axis& axis);

/// With more labelled names than this, the marks carry numbers instead.
inline constexpr std::size_t most_named = 12;

/// Gives the labelled names numbers in the order of `order` (marks with the same name get the same
/// number) and fills the key: the name, and the values of `key.columns` after the first, looked up
/// among the terms.
void number_all(Chart& chart);

/// Sets the columns of the key, {"operation", columns...}, and numbers the marks if more than
/// `most_named` different names are labelled. With fewer names, the layout numbers them if a name
/// finds no free place.
void number_marks(Chart& chart, const std::vector<std::string>& columns);

/// Returns the chart without the marks that its axes cannot show (not finite, not positive on a
/// logarithmic axis, outside the ranges), with a note that gives their number. Links are adapted.
[[nodiscard]] Chart without_undrawable(Chart chart);

}  // namespace ridge::plot
