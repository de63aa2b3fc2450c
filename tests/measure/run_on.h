// Runs a command with a fake device as device 0.
//
//   const Transcript t = run_on(h200_plan(), "measure copy --elements 4096");
//   CHECK(holds(t.out, "not measured"));
#pragma once

#include <memory>
#include <sstream>
#include <string>

#include "tests/cli/run.h"
#include "tests/measure/fakes.h"
#include "tests/support/text.h"

namespace ridge::test {

inline Transcript run_on(const measure::FakePlan& plan, const std::string& line,
                         bool terminal = false) {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    cli::Context context{.in = in, .out = out, .err = err, .terminal = terminal};
    context.open_device =
        [&plan](std::int32_t ordinal) -> measure::Maybe<std::unique_ptr<measure::Device>> {
        if (ordinal != 0) {
            return measure::Unavailable{.reason = "there is no device 7", .remedy = "use device 0"};
        }
        return std::make_unique<measure::FakeDevice>(plan);
    };
    context.open_group = [&plan](const measure::GroupRequest& request)
        -> measure::Maybe<std::unique_ptr<measure::Device>> {
        if (request.gpus > 4) {
            return measure::Unavailable{.reason = "there is no device 4", .remedy = "use 4"};
        }
        return std::make_unique<measure::FakeDevice>(plan);
    };
    context.device_count = [] { return 4; };
    context.topology = [] {
        return std::vector<measure::GpuPlace>{
            {.ordinal = 0,
             .name = "NVIDIA H200",
             .pci_bus = "0000:01:00.0",
             .links = measure::NvLinks{.active = 18, .version = 4, .to_switch = true},
             .numa_node = 1,
             .reaches = {1}},
            {.ordinal = 1, .name = "NVIDIA H200", .pci_bus = "0000:02:00.0"}};
    };
    context.survey_links = []() -> measure::Maybe<measure::LinkSurvey> {
        const auto rate = [](double gigabytes) { return gigabytes * units::GB / units::s; };
        return measure::LinkSurvey{
            .gpus = {"NVIDIA H200", "NVIDIA H200"},
            .one_way = {{std::nullopt, rate(391.0)}, {rate(392.0), std::nullopt}},
            .both_ways = {{std::nullopt, rate(770.0)}, {rate(771.0), std::nullopt}},
            .load = {{0.6 * units::us, 1.7 * units::us}, {1.8 * units::us, 0.6 * units::us}},
            .host = {{.to_device = rate(55.0)}, {.to_device = rate(54.0)}}};
    };
    const int code = cli::run(words_of(line), context);
    return {code, out.str(), err.str()};
}

}  // namespace ridge::test
