// Writes the sample charts to a folder, to look at them:  ridge_plot_samples FOLDER
#include <exception>
#include <iostream>
#include <string>

#include "plot/export.h"
#include "plot/terminal.h"
#include "tests/plot/samples.h"

int main(int argc, char** argv) {
    using namespace ridge::plot;
    if (argc != 2) {
        std::cerr << "usage: ridge_plot_samples FOLDER\n";
        return 1;
    }
    try {
        const std::string folder = argv[1];
        const auto write = [&folder](const std::string& name, const Chart& chart) {
            write_chart(folder + "/" + name + ".svg", chart);
            write_chart(folder + "/" + name + ".html", chart);
            std::cout << render_terminal(chart, {.columns = 80, .rows = 26}) << "\n";
        };
        write("predictions", roofline_chart(samples::predictions()));
        write("comparison", roofline_chart(samples::comparison()));
        write("sawtooth", sweep_chart(samples::sawtooth()));
        write("accuracy", scatter_chart(samples::accuracy()));
        write("crowd", roofline_chart(samples::crowd()));
        write("named", sweep_chart(samples::named(12)));
        write("hostile", roofline_chart(samples::hostile()));
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
