// Measured times that a user has: rows of a table, each an operation with the time of one call.
//
//   std::istringstream text("name,op,m,n,k,time_us\nqkv,matmul,4096,6144,4096,300\n");
//   const TimesTable table = read_times(text, "times.csv", {.usual_gpu = "h100-sxm"});
//   table.rows[0].name, .steps, .measured
//
// Columns are those of measure/record/shape_columns.h; `op` may also hold a whole operation
// ("matmul m=4096 n=6144 k=4096"). Cells are separated by commas, tabs or semicolons, whichever the
// header has most of. `count` is the number of calls. Rows are named by `name`, `kernel` or their
// operation.
// Limits: a row that cannot be understood is reported as damaged, and the others are read. Columns
// that are near to no field of the model are not used, and named.
#pragma once

#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <vector>

#include "hardware/error.h"
#include "hardware/quantity.h"
#include "measure/record/record.h"
#include "model/predict.h"

namespace ridge::answers {

struct TimedOperation {
    std::string name{};
    model::Workload steps{};  ///< what one call runs; usually one operation
    std::string gpu{};        ///< as the table or record names it
    Time measured{};          ///< of one call
    std::int64_t count = 1;
};

struct TimesTable {
    std::vector<TimedOperation> rows{};
    std::vector<measure::Damage> damaged{};
    std::vector<std::string> unused{};  ///< columns
};

struct TimesOptions {
    std::string usual_gpu{};  ///< of rows that name none
    Time unit{};              ///< of a time column whose name has none; zero: refused
    bool timed = true;        ///< false: times are not needed, and not read
};

/// InputError if the table lacks a column, a time has no unit, or a column is nearly a field.
[[nodiscard]] TimesTable read_times(std::istream& stream, const std::string& file,
                                    const TimesOptions& options);

/// Measured records as rows; those without a time are left out.
[[nodiscard]] std::vector<TimedOperation> times_of(std::span<const measure::Record> records);

}  // namespace ridge::answers
