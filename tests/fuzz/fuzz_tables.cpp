// libFuzzer: any bytes give a table of measured times, for `validate` and the charts and for `ridge
// fit`, or an InputError. Both readers read the same times.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cli/input/measured_table.h"
#include "hardware/error.h"
#include "measure/fit/rows.h"
#include "tests/fuzz/memory_file.h"

namespace {

constexpr std::size_t longest_input = 65536;

}  // namespace

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge;
    if (size > longest_input) return 0;
    const test::MemoryFile file(data, size);
    const measure::OtherColumns any{.names = {}, .all = true};
    try {
        const measure::RecordFile read = cli::read_measured_table(file.path(), "", any);
        for (const measure::Record& record : read.records) {
            if (!record.measured() || !(record.time() > Time{})) std::abort();
        }
        const auto rows = measure::read_rows(file.path(), any);
        if (read.damaged.empty() && rows.size() != read.records.size()) std::abort();
        for (std::size_t i = 0; read.damaged.empty() && i < rows.size(); ++i) {
            if (rows[i].measured != read.records[i].time()) std::abort();
        }
    } catch (const InputError&) {
        return 0;
    }
    return 0;
}
