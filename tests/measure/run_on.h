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
    const int code = cli::run(words_of(line), context);
    return {code, out.str(), err.str()};
}

}  // namespace ridge::test
