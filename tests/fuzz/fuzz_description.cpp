// Any bytes are either a description or a list of problems: never a crash, a hang or an exception.
#include <cstddef>
#include <cstdint>
#include <string>

#include "hardware/consistency.h"
#include "hardware/listing.h"
#include "hardware/loader.h"
#include "model/machine/catalogue.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge::hardware;
    const std::string text(data, data + size);
    const Loaded loaded = load_text(text, "fuzz.toml", ridge::model::schema());
    (void)load_header(text, "fuzz.toml");
    if (!loaded.problems.empty()) return 0;
    (void)check_consistency(loaded.description);
    (void)to_json(loaded.description, ridge::model::schema());
    return 0;
}
