// libFuzzer: any text is read as machine code or gives an InputError; counts and times are finite and
// not negative.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hardware/error.h"
#include "kernel/code/code_model.h"
#include "model/catalogue/catalogue.h"
#include "tests/fuzz/require.h"

using ridge::test::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge;
    using namespace ridge::kernel;
    static const model::Machine machine = model::make_machine(model::catalogue().at("h100-sxm"));
    static const Roofs roofs = *roofs_of(machine);
    try {
        const std::string_view text(reinterpret_cast<const char*>(data), size);
        for (const Function& function : parse_sass(text, "fuzz")) {
            std::vector<Loop> loops = loops_of(function);
            for (Loop& loop : loops) loop.trips = 3.0;
            const CodeCounts counts = count_code(function, loops, roofs);
            require(counts.instructions >= 0.0 && counts.chain >= 0.0);
            const CodeTime time = time_of_code(
                counts, {.blocks = 64, .threads = 128, .registers = 32}, roofs, machine);
            require(!std::isnan(time.seconds) && time.seconds >= 0.0);
        }
    } catch (const InputError&) {
        return 0;
    }
    return 0;
}
