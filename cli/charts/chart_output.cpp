#include "cli/charts/chart_output.h"
#include "cli/options/command_line.h"

#include <ostream>

#include "plot/export.h"
#include "plot/terminal.h"

namespace ridge::cli {

void add_chart_options(CommandLine& line, ChartOutput& output) {
    line.option("-o,--output", output.file, "file: .svg, .html, .png or .pdf (else terminal)")
        .value("FILE");
    line.option("--height", output.rows, "height of the drawing in the terminal").in_range(6, 200);
    line.flag("--ascii", output.ascii, "draw with ASCII characters only");
}

void write_chart_output(const Context& context, const ChartOutput& output,
                        const plot::Chart& chart) {
    if (!output.file.empty()) {
        plot::write_chart(output.file, chart);
        context.err << "wrote " << output.file << '\n';
        return;
    }
    context.out << plot::render_terminal(
        chart, {.columns = context.width,
                .rows = output.rows,
                .charset = output.ascii ? plot::Charset::ascii : plot::Charset::unicode,
                .ink = context.colour ? plot::Ink::ansi : plot::Ink::plain});
}

}  // namespace ridge::cli
