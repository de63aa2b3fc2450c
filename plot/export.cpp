#include "plot/export.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "hardware/error.h"
#include "hardware/output_file.h"
#include "plot/html.h"
#include "plot/html_frame.h"
#include "plot/process.h"
#include "plot/svg.h"
#include "plot/text.h"

namespace ridge::plot {

namespace fs = std::filesystem;

namespace {

/// A page with more columns has fewer pixels per column: pictures wider than 6000 pixels are seldom
/// opened.
constexpr std::size_t most_wide_columns = 3;

[[noreturn]] void refuse_writing(const std::string& path, std::string_view what,
                                 const std::string& reason) {
    throw InputError(fmt::format("cannot write the {}: {}", what, reason), {.file = path});
}

/// The system error that prevents creating a file in a folder; 0 if there is none.
int folder_error(const fs::path& folder) {
    std::error_code ignored;
    const fs::file_status found = fs::status(folder, ignored);
    if (fs::exists(found) && !fs::is_directory(found)) return ENOTDIR;
    return access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
}

}  // namespace

Format format_of(std::string_view path) {
    const std::size_t slash = path.find_last_of('/');
    const std::string_view file = slash == std::string_view::npos ? path : path.substr(slash + 1);
    const std::size_t dot = file.find_last_of('.');
    std::string ending(dot == std::string_view::npos ? "" : file.substr(dot + 1));
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (ending == "svg") return Format::svg;
    if (ending == "html" || ending == "htm") return Format::html;
    if (ending == "png") return Format::png;
    if (ending == "pdf") return Format::pdf;
    if (ending == "json") return Format::data;
    throw InputError(fmt::format("cannot tell a chart's format from '{}'", clean_text(path)), {},
                     "name the file .svg, .html, .png or .pdf, or .json for the chart's data");
}

std::string rasterise(std::string_view svg, Format format, const RasterOptions& options) {
    RIDGE_CONTRACT(format == Format::png || format == Format::pdf);
    std::vector<std::string> arguments = {options.converter, "--format",
                                          format == Format::png ? "png" : "pdf"};
    if (format == Format::png) {
        arguments.insert(arguments.end(),
                         {"--width", std::to_string(options.width), "--keep-aspect-ratio"});
    }
    ProcessResult result = run_process(arguments, svg);
    // If the C library reports a missing program from the child process, the child exits with 127.
    if (!result.started || (result.exit_code == 127 && result.output.empty())) {
        throw InputError(
            fmt::format("PNG and PDF need the program '{}', which was not found",
                        options.converter),
            {},
            "install it (Debian and Ubuntu: librsvg2-bin, Fedora: librsvg2-tools, macOS: "
            "librsvg), or write .svg or .html");
    }
    if (result.exit_code != 0 || result.output.empty()) {
        throw InputError(fmt::format("'{}' failed with exit code {}: {}", options.converter,
                                     result.exit_code, clean_text(result.errors)));
    }
    return std::move(result.output);
}

std::string render(std::span<const Chart> charts, Format format, const RasterOptions& options) {
    if (format == Format::html) return render_html(charts);
    if (format == Format::data) return page_data(charts) + "\n";
    SvgPage page = render_svg_page(charts);
    if (format == Format::svg) return std::move(page.text);
    RasterOptions wide = options;
    wide.width *= static_cast<int>(std::min(page.columns, most_wide_columns));
    return rasterise(page.text, format, wide);
}

void write_chart(const std::string& path, const Chart& chart, const RasterOptions& options) {
    write_charts(path, std::span(&chart, 1), options);
}

void write_charts(const std::string& path, std::span<const Chart> charts,
                  const RasterOptions& options) {
    write_bytes(path, render(charts, format_of(path), options));
}

void write_bytes(const std::string& path, const std::string& bytes, std::string_view what) {
    const std::string reason = replace_file(path, bytes);
    if (!reason.empty()) refuse_writing(path, what, reason);
}

void require_writable(const std::string& path, std::string_view what) {
    std::error_code ignored;
    const fs::file_status found = fs::status(path, ignored);
    int error = 0;
    if (fs::is_directory(found)) {
        error = EISDIR;
    } else if (found.type() == fs::file_type::none) {  // a loop of links, an over-long name
        error = access(path.c_str(), F_OK) == 0 ? 0 : errno;
    } else if (fs::exists(found) && !fs::is_regular_file(found)) {  // a pipe or a device
        error = access(path.c_str(), W_OK) == 0 ? 0 : errno;
    } else {
        const fs::path parent = fs::path(path).parent_path();
        error = folder_error(parent.empty() ? "." : parent);
    }
    if (error != 0) refuse_writing(path, what, std::generic_category().message(error));
}

void require_writable_folder(const std::string& folder, std::string_view what) {
    if (const int error = folder_error(folder); error != 0) {
        refuse_writing(folder, what, std::generic_category().message(error));
    }
}

}  // namespace ridge::plot
