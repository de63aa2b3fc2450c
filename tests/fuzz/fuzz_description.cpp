// libFuzzer: any bytes give a description or a list of problems; never a crash, a hang or an
// exception. What the plain reader accepts is TOML, and the TOML library reads the same from it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "hardware/consistency.h"
#include "hardware/listing.h"
#include "hardware/loader.h"
#include "hardware/plain_toml.h"
#include "model/catalogue/catalogue.h"
#include "tests/hardware/document_difference.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge::hardware;
    const std::string text(data, data + size);
    if (const auto plain = read_plain_toml(text, "fuzz.toml")) {
        const Document whole = parse_by_library(text, "fuzz.toml");
        const bool refused =
            whole.problem && whole.problem->message.find("levels deep") == std::string::npos;
        if (refused || (!whole.problem && !difference(plain->root, whole.root).empty()))
            std::abort();
    }
    const Loaded loaded = load_text(text, "fuzz.toml", ridge::model::schema());
    (void)load_header(text, "fuzz.toml");
    if (!loaded.problems.empty()) return 0;
    (void)check_consistency(loaded.description);
    (void)to_json(loaded.description, ridge::model::schema());
    return 0;
}
