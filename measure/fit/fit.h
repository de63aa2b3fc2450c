// Fits parameters of a time model to measured rows and reports how good the result is.
//
//   const FitReport report = run_fit(FitProblem{.rows = ..., .machines = ..., .parameters = ...});
//   report.parameters        // field, fitted value as in a description file, and its uncertainty
//   report.held              // parameters that the rows do not determine, and why
//   report.cross_validated   // errors on rows that the fit did not use
//
// The model declares which parameters are free (`model/machine/parameter.h`); a fit names sections
// and the kind of data that it uses.
//
// Method: the fitted function is the predictor itself. Parameters are written into the machines,
// every row is predicted, and ln(predicted / measured) is minimised (`least_squares.h`). If the
// standard error of a parameter exceeds its value, the parameter returns to its start and the
// others are fitted again without it. The least determined parameter goes first, until all are
// determined. A parameter that starts at zero stays there, because a fit of logarithms cannot leave
// zero. Cross-validation draws five folds over whole shapes (rows that differ only in what
// `fold_key` omits stay together) from a fixed seed. Each fold starts from displaced values, so
// that held-out rows do not leak through the start, and predicts its held-out rows. With
// `Prior::family` the start is prior knowledge: parameters are pulled towards it as strongly as
// GPUs of one family agree, and folds start from it.
//
// Limits: cross-validation refits the parameters, but not the form of the model.
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

inline constexpr unsigned folds = 5;  ///< number of folds of a cross-validation

/// One number that the fit may change.
struct FreeParameter {
    const model::ModelParameter* parameter = nullptr;
    bool per_gpu = false;  ///< each GPU has its own value; otherwise all share one
};

/// How several GPUs that are fitted together share a parameter.
enum class Sharing { one_for_all, per_gpu };

/// The parameters of a section ("matmul.tensor") that fits of `origin` (tables or records)
/// determine, except those that are zero in `start`: a fit of logarithms cannot leave zero.
/// InputError when the machine has no values to start from.
[[nodiscard]] std::vector<FreeParameter> free_parameters(std::string_view section,
                                                         model::Origin origin,
                                                         const model::Machine& start,
                                                         Sharing sharing = Sharing::one_for_all);

/// A value as a description file writes it: "4.07 us" in quotes, 0.8614 without.
[[nodiscard]] std::string toml_value(const hardware::Field& field, double value, int digits = 4);

/// Where a parameter starts, in base units, by the path of its field.
using Starts = std::function<double(const std::string&)>;

/// What is known about the parameters before the fit.
enum class Prior : std::uint8_t {
    none,   ///< the start is only where the search begins
    family  ///< the start comes from other GPUs, which differ from this one by about 30 %
};

/// Where the fits without a fold begin, displaced by up to 30 % so that held-out rows do not leak.
enum class FoldStart : std::uint8_t {
    given,
    fitted  ///< for laws with several valleys: in that of the fit to all rows
};

struct FitProblem {
    std::vector<MeasuredRow> rows;
    std::map<std::string, model::Machine> machines;  ///< start, by the rows' GPU names
    /// The same with the corrections that the fit leaves out, for the errors before; may be empty.
    std::map<std::string, model::Machine> described{};
    Starts start{};  ///< empty: where the machines are
    Prior prior = Prior::none;
    int steps = LeastSquaresOptions{}.steps;  ///< most steps of one fit
    double gain = LeastSquaresOptions{}.gain;
    unsigned tried_folds = folds;  ///< folds that are held out in turn
    bool only_names = false;       ///< report the parameters as held, without a fit
    FoldStart fold_start = FoldStart::given;
    std::vector<FreeParameter> parameters;
    /// The class under which a row is reported.
    std::function<std::string(const MeasuredRow&, const model::Prediction&)> group;
    /// Rows with the same key are held out together.
    std::function<std::string(const MeasuredRow&)> fold_key;
};

struct FittedParameter {
    std::string gpu;  ///< empty when all GPUs share it
    std::string field;
    std::string value;            ///< a TOML value: 0.8614, "4.07 us"
    double number = 0.0;          ///< the same in base units; 0 for a text
    double standard_error = 0.0;  ///< relative to the value
    std::string correlated_with;  ///< field with the strongest correlation; empty if none
    double correlation = 0.0;
};

/// A parameter that kept its starting value.
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
    std::set<std::uint64_t> seeds;  ///< of random shapes among the rows: these cannot judge the fit
    std::vector<ResidualSummary> described;  ///< errors before the fit
    std::vector<ResidualSummary> fitted;
    std::vector<ResidualSummary> cross_validated;
    std::vector<double> held_out;  ///< ln(predicted / measured) of each row in the cross-validation

    /// Whether the values may be written into a description.
    [[nodiscard]] bool usable() const {
        return status == FitStatus::converged || status == FitStatus::stalled;
    }
};

/// InputError when a row cannot be predicted or a parameter starts below zero.
[[nodiscard]] FitReport run_fit(const FitProblem& problem);

/// The input of a fitting program.
struct FitRequest {
    std::string data;               ///< folder of tables, or one table of any operations
    std::vector<std::string> gpus;  ///< fitted together; empty: each GPU separately
    std::function<model::Machine(const std::string&)> machine;
    std::vector<std::string> records{};  ///< files or folders of records, instead of `data`
    std::vector<std::string> tables{};   ///< names of the tables in `data` to read; empty: all
    Starts start{};                      ///< empty: where `machine` is
    unsigned tried_folds = folds;        ///< of the cross-validation
    bool only_names = false;             ///< report the parameters as held, without a fit
    bool every_shape = false;            ///< of engines: also the shapes that judge built-in fits
    OtherColumns keep{};                 ///< columns of the tables that the model does not use
    Prior prior = Prior::none;
    std::string gpu_of_tables{};                       ///< GPU of tables without a column `gpu`
    std::function<bool(const MeasuredRow&)> wanted{};  ///< rows to use; empty: all rows
    /// The contents of `data` or `records` if already read; the files are then not read again.
    const std::vector<MeasuredRow>* read = nullptr;
    bool held_out = false;  ///< for bands: no fit used these rows
    /// Related GPUs whose corrections those of one GPU may build on, the nearest first.
    std::vector<std::string> relatives{};
};

/// The wanted rows of `request.records`, or of the tables in `request.data` whose names begin with
/// one of `prefixes` (for a single table: the rows of such operations).
[[nodiscard]] std::vector<MeasuredRow> record_rows(const FitRequest& request);
[[nodiscard]] std::vector<MeasuredRow> table_rows(const FitRequest& request,
                                                  const std::vector<std::string>& prefixes);

/// What a fitting program can read.
enum class RowSource : std::uint8_t { tables, records, either };

/// The fitting programs by name, one per class of operation (`table.cpp`). Each returns one report
/// per GPU, or one for all GPUs that are named together; none if it has no rows.
struct FitProgram {
    std::string name;
    std::string help;
    RowSource source = RowSource::tables;
    std::vector<FitReport> (*run)(const FitRequest& request) = nullptr;
    bool of_software = false;  ///< its parameters are the same for every GPU
    bool of_engine = false;    ///< its parameters belong to machines of the rows' software
};
[[nodiscard]] const std::vector<FitProgram>& fit_programs();

[[nodiscard]] std::vector<FitReport> fit_memory(const FitRequest& request);
[[nodiscard]] std::vector<FitReport> fit_attention(const FitRequest& request);
/// Fits PyTorch's kernels to `request.records`.
[[nodiscard]] std::vector<FitReport> fit_torch(const FitRequest& request);
/// Fits the code of PyTorch's kernels and of the bundled ones to `request.records`: one report per
/// kind of kernel.
[[nodiscard]] std::vector<FitReport> fit_code(const FitRequest& request);
/// Fits the bundled kernels to `request.records`: one report per kernel and GPU.
[[nodiscard]] std::vector<FitReport> fit_bundled_attention(const FitRequest& request);
[[nodiscard]] std::vector<FitReport> fit_matmul(const FitRequest& request);
/// Fits bundled kernels, and library kernels that tables do not cover, to `request.records`.
[[nodiscard]] std::vector<FitReport> fit_matmul_records(const FitRequest& request);
[[nodiscard]] std::vector<FitReport> fit_collective(const FitRequest& request);
/// Fits the kernels of collectives to `request.records`.
[[nodiscard]] std::vector<FitReport> fit_collective_kernels(const FitRequest& request);
[[nodiscard]] std::vector<FitReport> fit_mla(const FitRequest& request);
[[nodiscard]] std::vector<FitReport> fit_moe(const FitRequest& request);
/// Fits the kernels of engines that have laws: one report per kernel and GPU.
[[nodiscard]] std::vector<FitReport> fit_engine(const FitRequest& request);
/// Fits the corrections of such kernels, over the values that `request.machine` has.
[[nodiscard]] std::vector<FitReport> fit_engine_correction(const FitRequest& request);

/// The rows of the requested GPUs, divided into groups that are fitted together.
[[nodiscard]] std::vector<FitProblem> split_rows(const std::vector<MeasuredRow>& rows,
                                                 const FitRequest& request);

/// Fits each GPU's rows and reports them by operation and implementation. Rows of one shape are
/// held out together.
[[nodiscard]] std::vector<FitReport> fit_by_shape(
    const std::vector<MeasuredRow>& rows, const FitRequest& request,
    const std::function<std::vector<FreeParameter>(const model::Machine&)>& parameters_of);

/// Fits `request.records` kernel by kernel, using kernel durations only. Rows of one operation are
/// held out together. `kernel_of` returns "" for rows of no such kernel.
[[nodiscard]] std::vector<FitReport> fit_kernels(
    const FitRequest& request, const std::function<std::string(const MeasuredRow&)>& kernel_of,
    const std::function<std::vector<FreeParameter>(const FitProblem&, const std::string& kernel)>&
        parameters_of);

}  // namespace ridge::measure
