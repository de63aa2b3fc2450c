#include "cli/input/nsight_report.h"

#include <fstream>

#include "hardware/error.h"
#include "plot/process.h"

namespace ridge::cli {

ImportedReports::ImportedReports(const std::vector<std::string>& files)
    : given_(files), files_(files) {
    for (std::string& file : files_) {
        if (!file.ends_with(".ncu-rep")) continue;
        if (!std::ifstream(file)) throw InputError("cannot be read", {.file = file});
        const plot::ProcessResult table =
            plot::run_process({"ncu", "--import", file, "--csv", "--page", "raw"}, "");
        if (!table.started) {
            throw InputError(
                "ncu is needed to read this file and is not on PATH", {.file = file},
                "export it where Nsight Compute is: ncu --import FILE --csv --page raw");
        }
        if (table.exit_code != 0) {
            throw InputError(
                "ncu cannot read it: " + table.errors.substr(0, table.errors.find('\n')),
                {.file = file});
        }
        tables_.emplace_back();
        std::ofstream(tables_.back().path(), std::ios::binary) << table.output;
        file = tables_.back().path();
    }
}

std::string ImportedReports::name_of(const std::string& file) const {
    for (std::size_t i = 0; i < files_.size(); ++i) {
        if (files_[i] == file) return given_[i];
    }
    return file;
}

}  // namespace ridge::cli
