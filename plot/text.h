// Text for charts: safe UTF-8, escaping, widths and truncation.
//
// Labels come from users' files, so every string is cleaned before it is drawn: bytes that are not
// UTF-8 become U+FFFD, control characters and direction marks become spaces. Widths in pictures are
// estimated from an embedded table of Helvetica's metrics (Arial, Liberation Sans and Nimbus Sans
// have the same metrics); widths on a terminal are counted in columns.
//
//   escape_markup("a < \"b\"")             == "a &lt; &quot;b&quot;"
//   truncate_to_width("attention", 40, 12) == "attent…"
//
// Limits: no shaping and no right-to-left layout; a character outside the table counts as average
// width, an East Asian character or an emoji as a full em (two columns).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::plot {

/// Valid UTF-8 without control characters; invalid bytes become U+FFFD.
[[nodiscard]] std::string clean_text(std::string_view text);

/// Cleaned and escaped for XML and HTML text and for quoted attributes.
[[nodiscard]] std::string escape_markup(std::string_view text);

/// A JSON string literal that is also safe inside an HTML script element: `<`, `>`, `&` and the
/// line separators are written as escapes of four hexadecimal digits.
[[nodiscard]] std::string script_json_string(std::string_view text);

enum class Weight { regular, bold };

/// Estimated width in pixels of one line at `size` pixels.
[[nodiscard]] double text_width(std::string_view text, double size,
                                Weight weight = Weight::regular);

/// The text, or as much of it as fits in `width` pixels, followed by an ellipsis.
[[nodiscard]] std::string truncate_to_width(std::string_view text, double width, double size,
                                            Weight weight = Weight::regular);

/// Columns that the text takes on a terminal.
[[nodiscard]] int text_columns(std::string_view text);

/// The text, or as much of it as fits in `columns`, followed by `ellipsis`.
[[nodiscard]] std::string truncate_to_columns(std::string_view text, int columns,
                                              std::string_view ellipsis = "…");

/// Whether a text fits on the line with this index, from 0.
using Fits = std::function<bool(std::string_view line, std::size_t index)>;

/// Breaks lines at spaces as late as `fits` allows; a word that does not fit gets its own line.
[[nodiscard]] std::vector<std::string> wrap_text(std::string_view text, const Fits& fits);

/// Replaces characters outside ASCII by similar ASCII ones ("10⁵" becomes "10^5"), or by '?' if
/// there are none.
[[nodiscard]] std::string to_ascii(std::string_view text);

/// An order in which "n = 512" comes before "n = 1024": runs of digits compare by value.
struct NaturalOrder {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const;
};

/// Four significant digits, plain from 1e-3 to below 1e6, otherwise as "1.5×10⁷".
[[nodiscard]] std::string number_text(double value);

/// The same with three significant digits.
[[nodiscard]] std::string short_number_text(double value);

/// Format of coordinates: at most two decimals, no trailing zeros, never "-0".
[[nodiscard]] std::string coordinate(double value);

}  // namespace ridge::plot
