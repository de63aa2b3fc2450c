// The GPU that the device tests share, or a note that says why there is none.
#pragma once

#include <memory>
#include <string>

#include "measure/run/device.h"
#include "measure/run/suite.h"
#include "tests/catch.h"

namespace ridge::test {

/// One device for all tests of the process, because CUPTI takes one subscriber.
[[nodiscard]] inline measure::Device* device_or_skip() {
    static measure::Maybe<std::unique_ptr<measure::Device>> opened = measure::open_device(0);
    if (const auto* missing = std::get_if<measure::Unavailable>(&opened)) {
        WARN("skipped: " << missing->reason << "; " << missing->remedy);
        return nullptr;
    }
    return std::get<std::unique_ptr<measure::Device>>(opened).get();
}

/// A prepared case of a question. The test fails if the device refuses it.
[[nodiscard]] inline std::unique_ptr<measure::Case> prepared(measure::Device& device,
                                                             const measure::Question& question) {
    auto outcome = device.prepare(question.operation, question.execution, question.pattern);
    if (const auto* missing = std::get_if<measure::Unavailable>(&outcome)) {
        FAIL("refused: " << missing->reason);
    }
    return std::get<std::unique_ptr<measure::Case>>(std::move(outcome));
}

}  // namespace ridge::test
