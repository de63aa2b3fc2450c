// Which shapes no fit of an engine's kernels sees: scripts/accuracy/engines.py works it out by itself, and
// both agree with left_out_shapes.txt.
#include <sstream>
#include <string>

#include "hardware/document.h"
#include "measure/fit/left_out.h"
#include "model/core/fields.h"
#include "tests/catch.h"

namespace ridge::measure {
namespace {

TEST_CASE("shapes are left out by their hash", "[fit]") {
    std::istringstream lines(hardware::read_text_file(RIDGE_LEFT_OUT_SHAPES));
    int checked = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('#')) continue;
        CAPTURE(line);
        const model::OperationText text = model::parse_operation(line.substr(2));
        const model::Operation operation = make_operation(text.kind, text.parameters);
        CHECK(static_cast<int>(side_of(operation)) == line.front() - '0');
        ++checked;
    }
    CHECK(checked > 20);
}

}  // namespace
}  // namespace ridge::measure
