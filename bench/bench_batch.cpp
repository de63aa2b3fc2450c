// Rows per second of `ridge predict --from`, from CSV text to CSV text; target: over 200000.
//
// Reads a million matmuls of different shapes from a string stream and writes to a stream that
// drops them, so the figure is that of parsing, prediction and formatting on one core.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <istream>
#include <sstream>
#include <streambuf>
#include <string>

#include "cli/commands/batch.h"
#include "model/catalogue/catalogue.h"

namespace {

using namespace ridge;

constexpr std::int64_t row_count = 1'000'000;

/// Accepts everything and keeps nothing.
class NullBuffer : public std::streambuf {
  protected:
    int overflow(int character) override { return character; }
    std::streamsize xsputn(const char*, std::streamsize count) override { return count; }
};

std::string matmul_rows() {
    std::string csv = "op,dtype,m,n,k\n";
    for (std::int64_t i = 0; i < row_count; ++i) {
        csv += "matmul,bf16," + std::to_string(1 + i % 8192) + "," +
               std::to_string(1 + i * 7 % 16384) + "," + std::to_string(64 + i * 13 % 4096) + "\n";
    }
    return csv;
}

std::string mixed_rows() {
    std::string csv = "op,dtype,m,n,k,heads,seq,head_dim,rows,cols,elements,expr\n";
    for (std::int64_t i = 0; i < row_count / 4; ++i) {
        const std::string size = std::to_string(128 + i % 4096);
        csv += "matmul,bf16," + size + ",4096,4096,,,,,,,\n";
        csv += "attention,bf16,,,,32," + size + ",128,,,,\n";
        csv += "softmax,bf16,,,,,,," + size + ",4096,,\n";
        csv += "elementwise,fp32,,,,,,,,," + size + ",gelu(x + bias)\n";
    }
    return csv;
}

void predict_rows(benchmark::State& state, const std::string& csv) {
    std::int64_t rows = 0;
    for ([[maybe_unused]] auto turn : state) {
        std::istringstream in(csv);
        NullBuffer nothing;
        std::ostream out(&nothing);
        std::ostream err(&nothing);
        const cli::Context context{.in = in, .out = out, .err = err};
        cli::Machines machines(model::catalogue(), model::View::calibrated);
        const cli::BatchOptions options{
            .file = "-", .gpu = "h100-sxm", .operation = {}, .defaults = {}, .keep = {}, .jobs = 1};
        const cli::BatchResult result = cli::predict_batch(context, machines, options);
        if (result.failed > 0 || result.rows != row_count) {
            state.SkipWithError("rows failed");
            break;
        }
        rows += result.rows;
    }
    state.counters["rows_per_s"] =
        benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsRate);
}

void matmuls(benchmark::State& state) {
    predict_rows(state, matmul_rows());
}
void mixed(benchmark::State& state) {
    predict_rows(state, mixed_rows());
}

BENCHMARK(matmuls)->Unit(benchmark::kMillisecond)->Name("batch/matmul");
BENCHMARK(mixed)->Unit(benchmark::kMillisecond)->Name("batch/mixed");

}  // namespace
