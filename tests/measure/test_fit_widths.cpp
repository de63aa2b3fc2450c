// Widths of bands by the time of a call, from residuals that scatter more for short calls.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/error.h"
#include "hardware/text_hash.h"
#include "hardware/units.h"
#include "measure/fit/fit_widths.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/support/temporary_folder.h"

namespace ridge::measure {
namespace {

/// Between -1 and 1, by the text alone.
double drawn(const std::string& text) {
    constexpr double most = 4294967296.0;
    return 2.0 * static_cast<double>(text_hash(text) >> 32U) / most - 1.0;
}

/// Products whose residuals reach `near` below 20 us and `far` beyond.
std::string scattered_products(double near, double far) {
    const model::Machine& machine = test::analytic_machine("h200-sxm");
    std::string text = "gpu,op,dtype,m,n,k,l2,launch,measured_us\n";
    for (int column = 1; column <= 24; ++column) {
        for (std::int64_t m = 8; m <= 32768; m *= 2) {
            for (const std::int64_t k : {512, 1024, 4096, 8192}) {
                const model::Matmul op{.m = m, .n = 256 * column, .k = k};
                const auto outcome = model::predict(
                    op, {.l2 = model::L2State::warm, .launch = model::LaunchMode::graph}, machine);
                const double time = std::get<model::Prediction>(outcome).time.in(units::us);
                const std::string shape = fmt::format("{},{},{}", m, op.n, k);
                const double off = (time < 20.0 ? near : far) * drawn(shape);
                text += fmt::format("h200-sxm,matmul,bf16,{},warm,graph,{}\n", shape,
                                    time * std::exp(off));
            }
        }
    }
    return text;
}

FittedWidths widths_of(double near, double far) {
    const test::TemporaryFolder folder;
    folder.write("matmul_h200-sxm.csv", scattered_products(near, far));
    return fit_widths({.data = folder.path(), .gpus = {}, .machine = test::analytic_machine});
}

}  // namespace

TEST_CASE("bands are wider where short calls scatter more", "[fit][band]") {
    const FittedWidths widths = widths_of(0.2, 0.03);
    std::size_t kept = 0;
    for (const ClassWidth& each : widths.classes) {
        INFO(table_line(each));
        if (!each.kept) continue;
        ++kept;
        CHECK(each.rows >= 150);
        CHECK(each.score < each.plain_score);
        CHECK(each.at.front() > 1.5 * each.at.back());
    }
    CHECK(kept > 0);
    CHECK(widths.kernels.empty());
}

TEST_CASE("residuals that scatter alike at all times leave the width as it is", "[fit][band]") {
    for (const ClassWidth& each : widths_of(0.1, 0.1).classes) {
        INFO(table_line(each));
        const auto [least, most] = std::minmax_element(each.at.begin(), each.at.end());
        CHECK(*most < 1.6 * *least);
    }
}

TEST_CASE("widths are written as lines of their tables", "[fit][band]") {
    CHECK(table_line(ClassWidth{
              .band_class = model::BandClass::stream, .at = {1.5, 1.25, 0.5}, .rows = 7}) ==
          R"(stream = { short = 1.50, middle = 1.25, long = 0.50, rows = 7, source = "WIDTHS" })");
    CHECK(table_line(KernelWidthFit{.kind = model::OperationKind::attention,
                                    .implementation = model::Implementation::torch_flash,
                                    .factor = 0.875,
                                    .rows = 90}) ==
          R"(torch-flash = { factor = 0.88, rows = 90, source = "WIDTHS" })");
}

TEST_CASE("widths go into their file, and other lines of it stay", "[fit][band]") {
    const std::string file =
        "kind = \"bands\"\n\n# By time.\n[width]\nstream = old\nring = old\naccess = old\n"
        "\n# By kernel.\n[kernel.copy]\nbundled = old\n[kernel.sum]\nfused = old\n";
    FittedWidths fitted;
    fitted.classes = {
        {.band_class = model::BandClass::stream, .at = {1.5, 1.0, 0.5}, .rows = 200, .kept = true},
        {.band_class = model::BandClass::access, .rows = 200, .kept = false},
        {.band_class = model::BandClass::ring, .rows = 20, .kept = false},
        {.band_class = model::BandClass::row_kernel, .rows = 300, .kept = true}};
    fitted.kernels = {{.kind = model::OperationKind::copy,
                       .implementation = model::Implementation::bundled,
                       .rows = 90,
                       .kept = false},
                      {.kind = model::OperationKind::softmax,
                       .implementation = model::Implementation::fused,
                       .factor = 0.9,
                       .rows = 90,
                       .kept = true}};
    CHECK(with_widths(file, fitted) ==
          "kind = \"bands\"\n\n# By time.\n[width]\n" + table_line(fitted.classes[0]) +
              "\nring = old\n" + table_line(fitted.classes[3]) +
              "\n\n# By kernel.\n[kernel.sum]\nfused = old\n[kernel.softmax]\n" +
              table_line(fitted.kernels[1]) + "\n");
    CHECK_THROWS_AS(with_widths("kind = \"bands\"\n", fitted), InputError);
}

}  // namespace ridge::measure
