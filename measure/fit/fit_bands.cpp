#include "measure/fit/fit_bands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "measure/fit/expert_rows.h"
#include "measure/statistics/quantile.h"
#include "model/predict.h"
#include "model/roof/band.h"

namespace ridge::measure {
namespace {

/// Share of residuals below the band, and above it: new shapes scatter more than fitted ones.
constexpr double outside = 0.08;
constexpr double outside_held_out = 0.10;
constexpr std::size_t fewest = 20;

using ClassResiduals = std::array<std::vector<double>, model::band_class_count>;

/// Tables of elementwise kernels and of causal attention contain calls that are mostly launch.
bool too_short(const MeasuredRow& row) {
    if (row.measured > 20.0 * units::us) return false;
    const auto* const attention = std::get_if<model::Attention>(&row.operation);
    return row.kind == model::OperationKind::elementwise ||
           (attention != nullptr && attention->causal);
}

bool extrapolated(const model::Prediction& prediction) {
    return model::noted<model::note::Extrapolated>(prediction) != nullptr;
}

/// Undoes what a correction does to the band of its class: the table holds the band before a
/// correction narrows it to the remaining spread of residuals.
double before_correction(const model::Prediction& prediction, double residual) {
    const model::BandRow& row = model::band_row(prediction.band_class);
    const double narrowed = (prediction.high / prediction.time - 1.0) / std::expm1(row.high);
    constexpr double least = -0.99;
    return std::log1p(std::max(least, std::expm1(residual) / narrowed));
}

void add_rows(const std::vector<MeasuredRow>& rows, const FitRequest& request,
              ClassResiduals& residuals) {
    std::map<std::string, model::Machine> machines;
    for (const MeasuredRow& row : rows) {
        auto known = machines.find(row.gpu);
        if (known == machines.end()) {
            known = machines.emplace(row.gpu, request.machine(row.gpu)).first;
        }
        const model::Outcome outcome = model::predict(row.operation, row.execution, known->second);
        const auto* const prediction = std::get_if<model::Prediction>(&outcome);
        if (prediction == nullptr || extrapolated(*prediction) ||
            prediction->evidence.chip != model::ChipEvidence::own) {
            continue;
        }
        residuals[static_cast<std::size_t>(prediction->band_class)].push_back(
            before_correction(*prediction, std::log(row.measured / prediction->time)));
    }
}

}  // namespace

std::vector<FittedBand> fit_bands(const FitRequest& request) {
    ClassResiduals residuals;
    if (!request.data.empty()) {
        std::vector<MeasuredRow> rows =
            split_experts(read_folder(request.data,
                                      {"matmul", "attention_prefill", "attention_decode",
                                       "collectives", "elementwise", "softmax", "layernorm",
                                       "attention_kv8", "mla_", "moe_"},
                                      request.keep))
                .own;
        std::erase_if(rows, too_short);
        add_rows(rows, request, residuals);
    }
    if (!request.records.empty()) {
        const auto name = [&](const std::string& driver) { return request.machine(driver).name; };
        add_rows(read_record_rows(request.records, name), request, residuals);
    }
    const double share = request.held_out ? outside_held_out : outside;
    std::vector<FittedBand> bands;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
        const model::BandRow& known = model::band_row(static_cast<model::BandClass>(i));
        std::vector<double>& logs = residuals[i];
        FittedBand band{.band_class = known.band_class,
                        .low = known.low,
                        .high = known.high,
                        .rows = known.rows};
        if (logs.size() >= fewest) {
            std::sort(logs.begin(), logs.end());
            band.low = quantile(logs, share);
            band.high = quantile(logs, 1.0 - share);
            band.rows = static_cast<std::int64_t>(logs.size());
        }
        bands.push_back(band);
    }
    return bands;
}

std::string table_line(const FittedBand& band) {
    const model::BandRow& known = model::band_row(band.band_class);
    return fmt::format(
        R"({} = {{ low = {:.3f}, high = {:.3f}, rows = {}, basis = "{}", source = "ROWS" }})",
        model::name_of(band.band_class), band.low, band.high, band.rows,
        model::band_basis_names[static_cast<std::size_t>(known.basis)]);
}

}  // namespace ridge::measure
