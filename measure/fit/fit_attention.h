// Fits the parameters of the attention time model to measured times and says how well they do on
// rows that were left out.
//
//   const std::vector<AttentionRow> rows = read_attention_rows("attention_decode_h200-sxm.csv");
//   const FlashParameters fitted = fit_attention(machine, Implementation::flash3, rows);
//
// Method: minimise the mean of sqrt(e^2 + 0.03^2), e = log(predicted / measured), over the logarithms
// of the free parameters, by reweighted least squares with Levenberg damping and numerical slopes.
// Cross-validation leaves out whole (batch, heads) groups, so that no group is fitted and judged.
//
// Limits: the structure of the model is not cross-validated, only its numbers.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/attention_time.h"

namespace ridge::measure {

/// One measured call.
struct AttentionRow {
    std::string gpu;
    model::Attention op;
    model::Execution execution;
    Time measured;
    int fold = 0;  ///< 0 to 4, of its (batch, heads) group
};

/// Rows of a CSV with columns of `ridge predict --from` and `measured_us`. InputError names file and
/// line of what cannot be read.
[[nodiscard]] std::vector<AttentionRow> read_attention_rows(const std::string& path);

/// A machine and the rows measured on it.
struct MeasuredMachine {
    model::Machine machine;
    std::vector<AttentionRow> rows;
};

/// The modelled time of a row with `fitted` in place of the machine's parameters.
[[nodiscard]] model::AttentionTime fitted_time(const model::Machine& machine,
                                               const model::FlashParameters& fitted,
                                               const AttentionRow& row);

/// Names of the parameters that are fitted; the others keep their described values.
[[nodiscard]] std::span<const std::string_view> free_attention_fields(
    model::Implementation implementation);

/// The parameters that suit all rows of `measured` best, but those of fold `left_out` (-1: none).
[[nodiscard]] model::FlashParameters fit_attention(std::span<const MeasuredMachine> measured,
                                                   model::Implementation implementation,
                                                   model::FlashParameters start, int left_out);

/// Reads DIR/attention_{prefill,decode}_*.csv, fits every GPU and every family, and prints the
/// parameters as TOML, the residuals by regime with their 80 % interval, and the cross-validated
/// errors. InputError where DIR has none of these files.
void report_attention_fit(const std::string& directory, std::ostream& out);

}  // namespace ridge::measure
