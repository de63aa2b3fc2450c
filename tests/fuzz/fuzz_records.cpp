// libFuzzer: any bytes are records and damage, never a crash; what is read survives a round trip.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "measure/record/record.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge::measure;
    const RecordFile file = parse_records(std::string(data, data + size), "fuzz.jsonl");
    for (const Record& record : file.records) {
        const std::string line = to_json_line(record);
        if (to_json_line(parse_record(line)) != line) std::abort();
    }
    return 0;
}
