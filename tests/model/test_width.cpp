// The width of a band by the time of a call and by the kernel.
#include <cmath>

#include "hardware/error.h"
#include "hardware/units.h"
#include "model/core/operation.h"
#include "model/predict.h"
#include "model/roof/band.h"
#include "model/roof/band_data.h"
#include "model/roof/width.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::model {
namespace {

using units::us;

TEST_CASE("the width of a band has no jumps in the time and stays beyond its ends", "[band]") {
    std::size_t varying = 0;
    for (std::size_t i = 0; i < band_class_count; ++i) {
        const auto band_class = static_cast<BandClass>(i);
        INFO(name_of(band_class));
        const auto at = [&](double time) { return width_at(band_class, time * us); };
        CHECK(at(width_times.front()) == Approx(at(0.1)));
        CHECK(at(width_times.back()) == Approx(at(1e6)));
        if (at(width_times[0]) != at(width_times[1])) ++varying;
        double last = at(1.0);
        for (double time = 1.0; time < 1000.0; time *= 1.01) {
            CHECK(at(time) == Approx(last).epsilon(0.02));
            last = at(time);
            CHECK(last > 0.1);
            CHECK(last < 4.0);
        }
        // Half-way in ln between two times, the width is the mean of theirs.
        const double middle = std::sqrt(width_times[1] * width_times[2]);
        CHECK(at(middle) == Approx(0.5 * (at(width_times[1]) + at(width_times[2]))));
    }
    CHECK(varying > 3);
}

TEST_CASE("a corrected band is that of its class times spread and width", "[band]") {
    const Machine& machine = test::machine("h200-sxm");
    for (const std::int64_t elements : {1 << 25, 1 << 27, 1 << 29}) {
        const auto of = [&](const Machine& view) {
            return std::get<Prediction>(predict(Copy{.elements = elements},
                                                {.implementation = Implementation::bundled}, view));
        };
        const Prediction p = of(machine);
        const Prediction analytic = of(test::analytic_machine("h200-sxm"));
        REQUIRE(p.band_class == BandClass::stream);
        const double width = machine.residuals->find(ResidualClass::bundled_movement)->spread *
                             width_at(BandClass::stream, analytic.time) *
                             width_of_kernel(OperationKind::copy, Implementation::bundled);
        CHECK(p.high / p.time - 1.0 ==
              Approx(width * std::expm1(band_row(BandClass::stream).high)));
        CHECK(analytic.high / analytic.time == Approx(std::exp(band_row(BandClass::stream).high)));
    }
}

TEST_CASE("every number of a band has a declared source", "[band]") {
    const hardware::EmbeddedFile& file = embedded_bands().front();
    const std::string text(file.text);
    const BandData data = read_band_data(text, file.path);
    CHECK(data.classes[0].low == band_row(BandClass::stream).low);
    const auto changed = [&](const std::string& old, const std::string& now) {
        std::string other = text;
        const std::size_t at = other.find(old);
        REQUIRE(at != std::string::npos);
        return other.replace(at, old.size(), now);
    };
    for (const auto& [old, now] :
         {std::pair<std::string, std::string>{"source = \"ROWS\"", "source = \"NOBODY\""},
          {"stream = { low", "steam = { low"},
          {"low = -", "low = "},
          {"ring = { low", "# ring = { low"},
          {"basis = \"bundled\"", "basis = \"guess\""},
          {"beyond_data = { value", "beyond = { value"},
          {"[kernel.transpose]", "[kernel.transport]"}}) {
        INFO(old);
        CHECK_THROWS_AS(read_band_data(changed(old, now), "changed.toml"), InputError);
    }
}

TEST_CASE("a kernel that scatters more than its correction's others has a wider band", "[band]") {
    const double tiled = width_of_kernel(OperationKind::transpose, Implementation::tiled);
    const double naive = width_of_kernel(OperationKind::transpose, Implementation::naive);
    CHECK(tiled > naive);
    CHECK(width_of_kernel(OperationKind::all_reduce, Implementation::automatic) == 1.0);
    const auto width = [](Implementation implementation) {
        const auto outcome = predict(Transpose{.rows = 3000, .cols = 3000},
                                     {.implementation = implementation}, test::machine("h200-sxm"));
        const auto& p = std::get<Prediction>(outcome);
        return p.high / p.time - 1.0;
    };
    CHECK(width(Implementation::tiled) / width(Implementation::naive) > 1.0);
}

}  // namespace
}  // namespace ridge::model
