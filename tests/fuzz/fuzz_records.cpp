// libFuzzer: any bytes give records and damage, never a crash, and what is read survives a round
// trip, as lines in full and as lines of differences. Records are lines of JSON, so this fuzzes the JSON parser too: any bytes give a JSON value
// or nothing, and a value's text reads back as the same text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "hardware/json.h"
#include "measure/record/record.h"

namespace {

void check_json(const std::string& text) {
    const auto json = ridge::Json::parse(text);
    if (!json) return;
    const std::string written = json->text();
    const auto again = ridge::Json::parse(written);
    if (!again || again->text() != written) std::abort();
}

void check_records(const std::string& text) {
    using namespace ridge::measure;
    const RecordFile file = parse_records(text, "fuzz.jsonl");
    for (const Record& record : file.records) {
        const std::string line = to_json_line(record);
        if (to_json_line(parse_record(line)) != line) std::abort();
    }
}

}  // namespace

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(data, data + size);
    check_json(text);
    check_records(text);
    check_records("{\"schema\":2,\"records\":\"differences\"}\n" + text);
    return 0;
}
