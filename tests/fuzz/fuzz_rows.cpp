// libFuzzer: any bytes given to `--from` are predicted row by row or give an InputError about the
// whole file. Read back, CSV has a row and JSON an item for each row that was read. Every row of
// the CSV has as many cells as the header.
//
// The first byte chooses the format and whether op and GPU have defaults; the rest is the CSV.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "cli/commands/batch.h"
#include "hardware/error.h"
#include "hardware/json.h"
#include "measure/record/csv_reader.h"
#include "model/catalogue/catalogue.h"
#include "tests/fuzz/require.h"

using ridge::test::require;

namespace {

ridge::cli::Machines& machines() {
    static ridge::cli::Machines all(ridge::model::catalogue(), ridge::model::View::calibrated);
    return all;
}

void check_csv(const std::string& text, std::int64_t expected) {
    std::istringstream in(text);
    ridge::measure::CsvReader reader(in, "out.csv");
    std::int64_t rows = -1;
    std::size_t width = 0;
    for (; reader.next(); ++rows) {
        require(reader.problem().empty());
        if (rows < 0) width = reader.cells().size();
        require(reader.cells().size() == width);
    }
    require(rows == expected);
}

void check_json(const std::string& text, std::int64_t expected) {
    const auto json = ridge::Json::parse(text);
    require(json && json->is_array());
    require(static_cast<std::int64_t>(json->items().size()) == expected);
}

constexpr std::size_t longest_input = 4096;  // bounds the work of one run

}  // namespace

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge;
    if (size == 0 || size > longest_input) return 0;
    const std::uint8_t choice = data[0];
    std::istringstream in(std::string(data + 1, data + size));
    std::ostringstream out;
    std::ostringstream err;
    const cli::Context context{.in = in, .out = out, .err = err};
    cli::BatchOptions options{.file = "-", .gpu = {}, .operation = {}, .defaults = {}};
    options.format = static_cast<cli::Format>(choice % 4);
    if ((choice & 4) == 0) options.gpu = "h100-sxm";
    if ((choice & 8) != 0) options.operation = model::OperationKind::matmul;
    try {
        const cli::BatchResult result = cli::predict_batch(context, machines(), options);
        require(result.failed <= result.rows);
        const std::string text = out.str();
        if (options.format == cli::Format::csv) check_csv(text, result.rows);
        if (options.format == cli::Format::json) check_json(text, result.rows);
        require(text.find("nan") == std::string::npos || in.str().find("nan") != std::string::npos);
    } catch (const InputError&) {
        return 0;
    }
    return 0;
}
