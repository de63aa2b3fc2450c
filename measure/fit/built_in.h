// Makes the calibrations that come with ridge from chips, software and records: `ridge calibrate
// --built-in`.
//
//   const CalibrationPlan plan = read_plan(text, "calibration/plan.toml");
//   for (const BuiltFile& file : build_calibrations(plan, request).files)
//       write(file.path, file.text);                    // calibration/h200-sxm/ridge-0.1.toml
//
// A plan is a list of fits, in the order in which they run, and the values from which they start:
//
//   [[fit]]
//   program = "attention"                    # of `ridge fit`, or residual
//   gpus = ["h200-sxm"]                      # fitted together
//   software = ["ridge-0.1"]                 # whose parameters it writes
//   source = "NATFIT"                        # key of the source in the file
//   records = ["records/h200-sxm"]           # below the source tree; or:
//   tables = ["attention_decode_b200.csv"]   # below --data
//   date = "2026-11-22"                      # of the tables
//   keep = ["torch_rows"]                    # optional: classes whose committed corrections stay
//
//   [model.torch]                            # where parameters start (fit_starts.h)
//   first_dram = { value = "0.7 us", source = "START" }
//
// Method. Each fit sees the values that the fits before it wrote. What it and the fits after it determine
// is at fixed values, not at the committed ones, so that the result depends only on what was measured and a
// second run gives the same bytes. Values are written with six digits, each with its standard error; the source says the
// command, what it read, the FNV-1a digest of that (of the unpacked bytes of all files, in the order of
// their names) and the date of the newest record. A parameter that its rows do not determine is written
// at its start and says so. What a fit's source gave before and does not now is dropped; all that no fit
// of the plan writes stays as it is committed.
//
// Limits: with another compiler values agree to about 1e-4, because fits stop at a tolerance.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/description.h"
#include "hardware/error.h"
#include "measure/fit/fit_starts.h"
#include "model/catalogue/catalogue.h"

namespace ridge::measure {

struct PlannedFit {
    std::string program;
    std::vector<std::string> gpus;
    std::vector<std::string> software;  ///< whose parameters it writes
    std::string source;
    std::vector<std::string> records;
    std::vector<std::string> tables;
    std::string date;               ///< of the tables
    std::vector<std::string> keep;  ///< classes of corrections that stay as they are committed
    Location location;
    bool wanted = true;  ///< false: the files hold what it gives

    [[nodiscard]] FitPlace place() const { return {.gpus = gpus, .software = software}; }
};

struct CalibrationPlan {
    std::vector<PlannedFit> fits;
    hardware::Description starts;                               ///< where the parameters start
    std::map<std::string, hardware::Description> gpu_starts{};  ///< those of one GPU, by its name
};

/// InputError with all that is wrong: an unknown program, a missing key.
[[nodiscard]] CalibrationPlan read_plan(const std::string& toml, const std::string& file);

struct BuildRequest {
    model::Catalogue catalogue;  ///< takes what each fit writes
    std::string tree;            ///< folder with records/
    std::string data;            ///< folder of public tables; empty: fits to tables are skipped
    /// Called before each fit, with what it is.
    std::function<void(const PlannedFit&)> progress{};
};

struct BuiltFile {
    std::string path;  ///< in the source tree
    std::string text;
};

struct SkippedFit {
    PlannedFit fit;
    std::string reason;
};

struct Built {
    std::vector<BuiltFile> files;
    std::vector<SkippedFit> skipped;
};

/// InputError when records or tables cannot be read, a parameter has no start, or a fit does not
/// converge.
[[nodiscard]] Built build_calibrations(const CalibrationPlan& plan, BuildRequest request);

/// The digest of files and of all files in folders, unpacked, and of their names.
[[nodiscard]] std::string digest_of_files(const std::vector<std::string>& paths);

}  // namespace ridge::measure
