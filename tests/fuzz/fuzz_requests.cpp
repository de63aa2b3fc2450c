// libFuzzer: any bytes give a log of requests or an error, never a crash. A log that is read is sorted and
// has sound requests.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "hardware/error.h"
#include "programs/traffic/requests.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge::programs;
    const std::string text(data, data + size);
    try {
        std::int64_t before = 0;
        for (const TrafficRequest& each : read_request_log(text, "fuzz.csv")) {
            const bool sound = each.arrival_ns >= before && each.prompt >= 1 && each.answer >= 1 &&
                               each.prefix >= 0 && each.prefix <= each.prompt;
            if (!sound) std::abort();
            before = each.arrival_ns;
        }
    } catch (const ridge::InputError&) {
        return 0;
    }
    return 0;
}
