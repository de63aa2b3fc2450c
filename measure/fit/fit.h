// Fits parameters of a time model to measured rows and says how good the result is.
//
//   const FitReport report = run_fit(FitProblem{.rows = ..., .machines = ..., .parameters = ...});
//   report.parameters        // field, fitted value as a description file writes it, how sure it is
//   report.held              // parameters that the rows do not determine, and why
//   report.cross_validated   // errors on rows that the fit did not see
//
// Which parameters are free stands where the model declares them (`model/machine/parameter.h`): a
// fit names sections and what it fits to.
//
// Method: the predictor itself is the function that is fitted: parameters are written into the
// machines, every row is predicted, and ln(predicted / measured) is minimised (`least_squares.h`).
// A parameter whose standard error exceeds its value goes back to its start and the others are
// fitted again without it, the least determined one first, until all are determined. One that
// starts at zero stays there: a fit of logarithms cannot leave it.
// Cross-validation draws five folds over whole shapes (rows that differ only in what `fold_key`
// leaves out stay together) from a fixed seed, starts each fold from displaced values, so that
// held-out rows do not leak through the start, and predicts the held-out rows.
// With `Prior::family` the start is what is known before the rows: parameters are drawn to it as
// strongly as GPUs of one family differ, and folds start from it.
//
// Limits: cross-validation refits the parameters, not the form of the model.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "measure/fit/residuals.h"
#include "measure/fit/rows.h"
#include "measure/statistics/least_squares.h"
#include "model/core/prediction.h"
#include "model/machine/machine.h"
#include "model/machine/parameters.h"

namespace ridge::measure {

inline constexpr unsigned folds = 5;  ///< of a cross-validation

/// One number that the fit may change.
struct FreeParameter {
    const model::ModelParameter* parameter = nullptr;
    bool per_gpu = false;  ///< each GPU has its own value; otherwise all share one
};

/// Of several GPUs that are fitted together.
enum class Sharing { one_for_all, per_gpu };

/// The parameters of a section ("matmul.tensor") that fits of `origin` (tables or records)
/// determine, but those that are zero in `start`: a fit of logarithms cannot leave zero.
/// InputError where the machine has nothing to start from.
[[nodiscard]] std::vector<FreeParameter> free_parameters(std::string_view section,
                                                         model::Origin origin,
                                                         const model::Machine& start,
                                                         Sharing sharing = Sharing::one_for_all);

/// A value as a description file writes it: "4.07 us" in quotes, 0.8614 without.
[[nodiscard]] std::string toml_value(const hardware::Field& field, double value);

/// What is known of the parameters before the rows are.
enum class Prior : std::uint8_t {
    none,   ///< the start is where the search begins, no more
    family  ///< the start stems from other GPUs, which differ by some 30 % from this one
};

struct FitProblem {
    std::vector<MeasuredRow> rows;
    std::map<std::string, model::Machine> machines;  ///< by the rows' GPU names: the start
    /// The same with what the fit leaves aside (corrections): for the errors before; may be empty.
    std::map<std::string, model::Machine> described{};
    Prior prior = Prior::none;
    std::vector<FreeParameter> parameters;
    /// Class under which a row is reported.
    std::function<std::string(const MeasuredRow&, const model::Prediction&)> group;
    /// Rows of one key are held out together.
    std::function<std::string(const MeasuredRow&)> fold_key;
};

struct FittedParameter {
    std::string gpu;  ///< empty when all GPUs share it
    std::string field;
    std::string value;            ///< as a TOML value: 0.8614, "4.07 us"
    double number = 0.0;          ///< the same in base units
    double standard_error = 0.0;  ///< over the value
    std::string correlated_with;  ///< field of the strongest correlation; empty when alone
    double correlation = 0.0;
};

/// A parameter that kept the value it started from.
struct HeldParameter {
    std::string gpu;
    std::string field;
    std::string value;
    std::string reason;
};

struct FitReport {
    std::string name;
    FitStatus status = FitStatus::not_finite;
    int iterations = 0;
    double cost_at_start = 0.0;
    double cost = 0.0;
    std::vector<FittedParameter> parameters;
    std::vector<HeldParameter> held;
    std::set<std::uint64_t> seeds;  ///< of random shapes among the rows: they cannot judge the fit
    std::vector<ResidualSummary> described;  ///< errors before the fit
    std::vector<ResidualSummary> fitted;
    std::vector<ResidualSummary> cross_validated;

    /// Whether the values may be written into a description.
    [[nodiscard]] bool usable() const {
        return status == FitStatus::converged || status == FitStatus::stalled;
    }
};

/// InputError when a row cannot be predicted, or a parameter starts below zero.
[[nodiscard]] FitReport run_fit(const FitProblem& problem);

/// What a fitting program is asked for.
struct FitRequest {
    std::string data;               ///< folder of tables, or one table of any operations
    std::vector<std::string> gpus;  ///< fitted together; empty: each by itself
    std::function<model::Machine(const std::string&)> machine;
    std::vector<std::string> records{};  ///< files or folders of records, in place of `data`
    OtherColumns keep{};                 ///< columns of the tables that mean nothing to the model
    Prior prior = Prior::none;
    std::string gpu_of_tables{};                       ///< of tables without a column `gpu`
    std::function<bool(const MeasuredRow&)> wanted{};  ///< rows that count; empty: all do
    /// What `data` or `records` hold, where it was read before: a file is then not read again.
    const std::vector<MeasuredRow>* read = nullptr;
    bool held_out = false;  ///< of bands: the rows took no part in any fit
    /// Relatives on whose corrections those of one GPU may build, the nearest first.
    std::vector<std::string> relatives{};
};

/// The rows of `request.records`, or of the tables in `request.data` that begin with one of
/// `prefixes` (of a single table: the rows of such operations), as far as they are wanted.
[[nodiscard]] std::vector<MeasuredRow> record_rows(const FitRequest& request);
[[nodiscard]] std::vector<MeasuredRow> table_rows(const FitRequest& request,
                                                  const std::vector<std::string>& prefixes);

/// What a fitting program reads.
enum class RowSource : std::uint8_t { tables, records, either };

/// The fitting programs by name, one per class of operation (`table.cpp`). Each returns one report
/// per GPU, or one for all GPUs that were named together; none where there are no rows for it.
struct FitProgram {
    std::string name;
    std::string help;
    RowSource source = RowSource::tables;
    std::vector<FitReport> (*run)(const FitRequest& request) = nullptr;
    bool of_software = false;  ///< its parameters hold for every GPU, and are none of a GPU's own
};
[[nodiscard]] const std::vector<FitProgram>& fit_programs();

[[nodiscard]] std::vector<FitReport> fit_memory(const FitRequest& request);
[[nodiscard]] std::vector<FitReport> fit_attention(const FitRequest& request);
/// PyTorch's kernels, from `request.records`.
[[nodiscard]] std::vector<FitReport> fit_torch(const FitRequest& request);
/// The code of PyTorch's kernels and the bundled ones, from `request.records`: one report per kind of kernel.
[[nodiscard]] std::vector<FitReport> fit_code(const FitRequest& request);
/// The bundled kernels, from `request.records`: one report per kernel and GPU.
[[nodiscard]] std::vector<FitReport> fit_bundled_attention(const FitRequest& request);
[[nodiscard]] std::vector<FitReport> fit_matmul(const FitRequest& request);
/// Bundled kernels, and the library's kernels that tables do not cover, from `request.records`.
[[nodiscard]] std::vector<FitReport> fit_matmul_records(const FitRequest& request);
[[nodiscard]] std::vector<FitReport> fit_collective(const FitRequest& request);
[[nodiscard]] std::vector<FitReport> fit_mla(const FitRequest& request);
[[nodiscard]] std::vector<FitReport> fit_moe(const FitRequest& request);

/// The rows of the requested GPUs, split into the groups that are fitted together.
[[nodiscard]] std::vector<FitProblem> split_rows(const std::vector<MeasuredRow>& rows,
                                                 const FitRequest& request);

/// Fits each GPU's rows and reports them by operation and implementation; rows of one shape are held
/// out together.
[[nodiscard]] std::vector<FitReport> fit_by_shape(
    const std::vector<MeasuredRow>& rows, const FitRequest& request,
    const std::function<std::vector<FreeParameter>(const model::Machine&)>& parameters_of);

/// Fits `request.records` kernel by kernel, from kernel durations alone; rows of one operation are
/// held out together. `kernel_of` is empty for rows that belong to none.
[[nodiscard]] std::vector<FitReport> fit_kernels(
    const FitRequest& request, const std::function<std::string(const MeasuredRow&)>& kernel_of,
    const std::function<std::vector<FreeParameter>(const FitProblem&, const std::string& kernel)>&
        parameters_of);

}  // namespace ridge::measure
