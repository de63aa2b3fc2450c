#include "measure/fit/residual_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "hardware/error.h"
#include "hardware/text_hash.h"
#include "measure/fit/expert_rows.h"
#include "measure/record/record.h"
#include "model/predict.h"

namespace ridge::measure {
namespace {

using model::ResidualClass;

/// Residuals are clamped to this multiple of the ln of the largest factor: 0.25 if that is 1.2.
const double residual_reach = 0.25 / std::log(1.2);
constexpr std::uint64_t held_out_of = 3;

std::uint64_t hash_of(std::string_view text) {
    const std::uint64_t hash = text_hash(text);
    return hash ^ (hash >> 29U);
}

/// Family of shapes that a library treats alike; such shapes are held out together.
std::string family_of(const model::Operation& operation) {
    if (const auto* op = std::get_if<model::Matmul>(&operation)) {
        return fmt::format("{} {}", op->n, op->k);
    }
    if (const auto* op = std::get_if<model::Attention>(&operation)) {
        return fmt::format("{} {} {}", op->batch, op->heads, op->kv_heads);
    }
    if (const auto* op = std::get_if<model::Mla>(&operation)) {
        return fmt::format("{} {}", op->batch, op->heads);
    }
    const auto* const op = std::get_if<model::Moe>(&operation);
    if (op == nullptr) return canonical_text(operation);
    return fmt::format("{} {} {} {} {} {}", op->hidden, op->intermediate, op->topk, op->experts,
                       op->tp, op->ep);
}

/// Features that number kinds.
constexpr std::array<std::string_view, 11> kinds{"kernel", "type",  "output",   "variant",
                                                 "tile",   "axis",  "backward", "causal",
                                                 "bias",   "cache", "l2"};
/// How the names begin of features that count blocks.
constexpr std::array<std::string_view, 3> of_blocks{"tiles", "wave", "last"};

bool is_product(ResidualClass residual_class) {
    return model::residual_features(residual_class).front() == "m";
}

FeatureUse use_of(std::string_view feature, ResidualClass residual_class) {
    if (std::find(kinds.begin(), kinds.end(), feature) != kinds.end()) return FeatureUse::kind;
    const bool unused = model::rests_on_records(residual_class) && !is_product(residual_class) &&
                        std::any_of(of_blocks.begin(), of_blocks.end(), [&](std::string_view each) {
                            return feature.starts_with(each);
                        });
    return unused ? FeatureUse::unused : FeatureUse::size;
}

}  // namespace

const model::Machine& AnalyticMachines::at(const std::string& gpu) {
    auto found = machines_.find(gpu);
    if (found == machines_.end()) {
        model::Machine machine = request_.machine(gpu);
        machine.residuals = nullptr;
        found = machines_.emplace(gpu, std::move(machine)).first;
    }
    return found->second;
}

std::vector<MeasuredRow> residual_rows(const FitRequest& request) {
    std::vector<MeasuredRow> rows;
    if (!request.data.empty()) {
        rows = split_experts(table_rows(request, {"matmul_", "attention_", "mla_", "moe_"})).own;
    }
    if (!request.records.empty()) {
        std::vector<MeasuredRow> more = record_rows(request);
        rows.insert(rows.end(), more.begin(), more.end());
    }
    std::erase_if(rows, [&](const MeasuredRow& row) {
        return !request.gpus.empty() &&
               std::find(request.gpus.begin(), request.gpus.end(), row.gpu) == request.gpus.end();
    });
    return rows;
}

std::map<ResidualClass, FitSamples> residual_samples(const std::vector<MeasuredRow>& rows,
                                                     AnalyticMachines& machines) {
    std::map<ResidualClass, FitSamples> classes;
    for (const MeasuredRow& row : rows) {
        const model::Machine& machine = machines.at(row.gpu);
        const model::Outcome outcome = model::predict(row.operation, row.execution, machine);
        const auto* const prediction = std::get_if<model::Prediction>(&outcome);
        if (prediction == nullptr || prediction->evidence.chip == model::ChipEvidence::datasheet)
            continue;
        const auto features =
            model::residual_features_of(row.operation, row.execution, *prediction, machine);
        if (!features) continue;
        // How long a host takes to launch is not a property of the kernel.
        if (model::has_kernel_feature(features->residual_class) &&
            row.execution.launch == model::LaunchMode::stream) {
            continue;
        }
        const double most =
            residual_reach * std::log(model::largest_correction(features->residual_class));
        const double residual = std::log(row.measured / prediction->time);
        if (!std::isfinite(residual)) {
            throw InputError("a row's time is not a number",
                             {row.file, static_cast<int>(row.line), 1});
        }
        classes[features->residual_class].push_back(
            {.row = &row,
             .implementation = prediction->implementation,
             .features = *features,
             .residual = std::clamp(residual, -most, most),
             .family = hash_of(family_of(row.operation)),
             .held_out = hash_of(canonical_text(row.operation)) % held_out_of == 0});
    }
    return classes;
}

FitSamples part_of(const FitSamples& samples, const std::function<bool(const FitSample&)>& wanted) {
    FitSamples part;
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(part), wanted);
    return part;
}

std::vector<std::string> gpus_of(const FitSamples& samples) {
    std::set<std::string> names;
    for (const FitSample& each : samples) names.insert(each.row->gpu);
    return {names.begin(), names.end()};
}

TreeProblem problem_of(const FitSamples& samples, const std::vector<std::string>& gpus) {
    TreeProblem problem;
    problem.part_count = gpus.size();
    const ResidualClass residual_class = samples[0].features.residual_class;
    for (const std::string_view feature : model::residual_features(residual_class)) {
        problem.uses.push_back(use_of(feature, residual_class));
    }
    problem.features.resize(problem.uses.size());
    for (const FitSample& each : samples) {
        const auto gpu = std::lower_bound(gpus.begin(), gpus.end(), each.row->gpu);
        for (std::size_t i = 0; i < problem.features.size(); ++i) {
            problem.features[i].push_back(each.features.values[i]);
        }
        problem.values.push_back(each.residual);
        problem.parts.push_back(static_cast<std::size_t>(gpu - gpus.begin()));
    }
    return problem;
}

}  // namespace ridge::measure
