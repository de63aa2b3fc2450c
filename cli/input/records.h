// Reads records from files, folders and CSV tables for commands.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "measure/record/record.h"
#include "measure/record/shape_columns.h"
#include "model/catalogue/catalogue.h"

namespace ridge::cli {

/// Records, and how many lines of their files could not be read.
struct LoadedRecords {
    std::vector<measure::Record> records;
    std::size_t damaged = 0;
};

/// The GPUs that a command asks about; both may be empty.
struct WantedGpu {
    std::string only;   ///< records of other GPUs are left out
    std::string usual;  ///< GPU of table rows that name none
};

/// Reads records by path, reports damaged lines on `err`, and keeps only those of `gpu.only` if it
/// is not empty. CSV tables may have the columns of `keep`. InputError if nothing is left.
[[nodiscard]] LoadedRecords load_records(const Context& context,
                                         const std::vector<std::string>& paths,
                                         const WantedGpu& gpu, const model::Catalogue& catalogue,
                                         const measure::OtherColumns& keep = {});

}  // namespace ridge::cli
