// Reports of Nsight Compute (.ncu-rep), read by Nsight Compute itself.
//
//   const ImportedReports imported({"run.ncu-rep"});
//   imported.files()            // {"/tmp/ridge-a1b2c3"}: the table that `ncu --import` prints
//   imported.name_of(file)      // "run.ncu-rep"
//
// Other files pass through. InputError if ncu is missing or cannot read the report.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "cli/input/scratch_file.h"

namespace ridge::cli {

class ImportedReports {
  public:
    explicit ImportedReports(const std::vector<std::string>& files);

    [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
    /// The name that the user gave.
    [[nodiscard]] std::string name_of(const std::string& file) const;

  private:
    std::list<ScratchFile> tables_;
    std::vector<std::string> given_;
    std::vector<std::string> files_;
};

}  // namespace ridge::cli
