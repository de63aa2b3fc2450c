// A fake H200 and example records for the tests of measuring.
#pragma once

#include <memory>
#include <string>

#include "measure/run/measure.h"
#include "measure/run/suite.h"
#include "tests/model/machines.h"
#include "tests/support/fake_device.h"

namespace ridge::test {

inline measure::FakePlan h200_plan() {
    return measure::fake_plan(catalogue().at("h200-sxm"));
}

inline measure::Question question(const std::string& text) {
    return measure::parse_question(text);
}

/// A record of a run on the fake.
inline measure::Record example_record(
    const std::string& text = "matmul m=1024 n=1024 k=1024 dtype=bf16") {
    measure::FakeDevice device(h200_plan());
    return *measure::measure_one(device, question(text), {});
}

}  // namespace ridge::test
