// A chart placed on a page: everything in pixels of the view box, before it becomes SVG.
//
// The page is 960 x 640; a legend, notes or a key that need more room make it taller. If a name
// finds no free place next to its mark, all marks are numbered and the key gives the names. The
// result is a plain value, so tests check directly that no two label boxes overlap and that every
// point is present.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plot/chart.h"
#include "plot/font.h"
#include "plot/geometry.h"
#include "plot/span_layout.h"
#include "plot/text.h"

namespace ridge::plot {

struct PlacedTick {
    double at = 0.0;  ///< x or y in pixels
    std::string text = {};
    bool strong = false;  ///< a decade on a logarithmic axis, every tick on a linear one
};

struct PlacedCurve {
    std::size_t curve = 0;
    std::vector<std::vector<Vec2>> parts = {};
};

struct PlacedBand {
    std::size_t band = 0;
    std::vector<Vec2> outline = {};
};

struct PlacedMark {
    Vec2 at = {};
    std::optional<Segment> error = {};
};

enum class LabelOwner { curve, mark, annotation };

struct PlacedLabel {
    std::string text = {};
    std::string full = {};  ///< before truncation
    Box box = {};
    FontRole role = FontRole::label;
    Color color = Color::ink;
    std::optional<Segment> leader = {};
    LabelOwner owner = LabelOwner::mark;
    std::size_t index = 0;
};

enum class TextEnd { left, right };

struct PlacedText {
    Vec2 at = {};  ///< on the baseline, at the end that `anchor` gives
    std::string text = {};
    FontRole role = FontRole::detail;
    TextEnd anchor = TextEnd::left;
};

/// An entry of the legend in the right margin or, for samples, below the chart.
struct PlacedEntry {
    LegendEntry entry = {};
    Vec2 at = {};  ///< left end of the sample, at the height of the name
    std::optional<Segment> leader = {};
};

struct Layout {
    PageSize page = {};
    Rect frame = {};
    double notes_left = 16.0;  ///< left edge of the title and the notes
    std::vector<PlacedText> headlines = {};
    std::vector<PlacedTick> x_ticks = {};
    bool x_turned =
        false;             ///< texts of the x ticks are turned by 45 degrees and end at their ticks
    double x_title = 0.0;  ///< baseline of the title of the x axis
    std::vector<PlacedTick> y_ticks = {};
    std::vector<PlacedBand> bands = {};
    std::vector<PlacedSpan> spans = {};
    std::vector<PlacedCurve> curves = {};
    std::vector<PlacedMark> marks = {};  ///< one per mark of the chart, in its order
    std::vector<Vec2> annotations = {};  ///< one per annotation of the chart
    std::vector<Segment> drop_lines = {};
    std::vector<PlacedLabel> labels = {};
    std::vector<PlacedEntry> legend = {};  ///< in the right margin
    std::vector<PlacedEntry> samples =
        {};  ///< below: samples and entries without room in the margin
    std::vector<PlacedText> notes = {};
    std::vector<PlacedText> key = {};
    std::vector<Segment> rules = {};  ///< below the headings of the key
};

inline constexpr double sample_width = 22.0;  ///< of a line or marker sample next to its text

/// Marks must be drawable within the ranges, as the chart builders leave them.
[[nodiscard]] Layout lay_out(const Chart& chart, PageSize page = {});

}  // namespace ridge::plot
