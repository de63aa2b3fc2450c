// Any bytes are either a description or a list of problems: never a crash, a hang or an exception.
#include <cstddef>
#include <cstdint>
#include <string>

#include "hardware/catalogue.h"
#include "hardware/consistency.h"
#include "hardware/listing.h"
#include "hardware/loader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge::hardware;
    const std::string text(data, data + size);
    const Loaded loaded = load_text(text, "fuzz.toml");
    (void)load_header(text, "fuzz.toml");
    if (!loaded.problems.empty()) return 0;
    (void)check_consistency(loaded.description);
    (void)to_json(loaded.description);
    return 0;
}
