// Charts as files: SVG, HTML, PNG or PDF through librsvg's `rsvg-convert`, and the data that the script of
// an HTML page draws, as JSON.
//
// The converter is looked up on PATH when it is needed and runs without a shell: it reads the SVG
// from its standard input and writes the picture to its standard output.
//
//   write_chart("roofline.html", chart);   // the ending chooses the format
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plot/chart.h"

namespace ridge::plot {

enum class Format { svg, html, png, pdf, data };

/// The format for the path's ending; InputError lists the known endings.
[[nodiscard]] Format format_of(std::string_view path);

struct RasterOptions {
    std::string converter = "rsvg-convert";
    int width = 1920;  ///< pixels of a PNG, of each of up to three columns of charts; a PDF keeps
                       ///< the page's size
};

/// PNG or PDF bytes of an SVG. InputError says what to install if the converter is missing, and
/// quotes the converter's message if it fails.
[[nodiscard]] std::string rasterise(std::string_view svg, Format format,
                                    const RasterOptions& options = {});

/// The charts on one page in a format, as the bytes of a file.
[[nodiscard]] std::string render(std::span<const Chart> charts, Format format,
                                 const RasterOptions& options = {});

/// Writes a file as a whole: if that fails, the old file stays in place. InputError calls the file
/// `what`.
void write_bytes(const std::string& path, const std::string& bytes,
                 std::string_view what = "chart");

/// Lets a command check before it works for minutes: InputError if `write_bytes` to the path, or to
/// files in the folder, can only fail. Creates nothing.
void require_writable(const std::string& path, std::string_view what = "chart");
void require_writable_folder(const std::string& folder, std::string_view what);

/// Writes `render` in the format of the path's ending; InputError if the file cannot be written.
void write_charts(const std::string& path, std::span<const Chart> charts,
                  const RasterOptions& options = {});
void write_chart(const std::string& path, const Chart& chart, const RasterOptions& options = {});

}  // namespace ridge::plot
