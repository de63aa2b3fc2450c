// libFuzzer: any bytes are a JSON value or nothing; a value's text reads back as the same text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "hardware/json.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto json = ridge::Json::parse(text);
    if (!json) return 0;
    const std::string written = json->text();
    const auto again = ridge::Json::parse(written);
    if (!again || again->text() != written) std::abort();
    return 0;
}
