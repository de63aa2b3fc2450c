// Uses the installed package through its public headers only.
#include <ridge/hardware.h>
#include <ridge/plot.h>
#include <ridge/predict.h>
#include <ridge/programs.h>
#include <ridge/records.h>

#include <cstdio>
#include <string>

int main(int count, char** words) {
    using namespace ridge;
    const model::Catalogue catalogue = model::catalogue();
    const model::Machine machine = model::make_machine(catalogue.at("h100-sxm"));
    const model::Matmul op{.m = 4096, .n = 4096, .k = 4096};
    const model::Outcome outcome = model::predict(op, {}, machine);
    const auto* prediction = std::get_if<model::Prediction>(&outcome);
    if (prediction == nullptr || prediction->time < prediction->lower_bound) return 1;
    std::printf("%.1f us\n", prediction->time.in(units::us));
    if (plot::render_svg(plot::Chart{}).empty()) return 2;
    if (count != 3) return 3;
    const measure::RecordFile file = measure::read_all_records({words[1]});
    const auto found = measure::validate(file.records, catalogue, model::View::calibrated);
    std::printf("%zu records\n", file.records.size());
    const programs::Trace trace = programs::read_trace(words[2]);
    const programs::TraceReport report = programs::report_of(trace, machine);
    std::printf("%zu operators in %zu bytes of report\n", trace.operators.size(), sizeof report);
    return file.records.empty() || trace.operators.empty() ? 4 : 0;
}
