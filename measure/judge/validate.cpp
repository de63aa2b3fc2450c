#include "measure/judge/validate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "hardware/error.h"
#include "measure/statistics/quantile.h"
#include "model/predict.h"
#include "model/roof/band.h"
#include "model/roof/roofline.h"

namespace ridge::measure {
namespace {

/// Smallest traffic per kernel for which DRAM counters are compared: ten times the 24 MB of other
/// data's write-backs that kernel replay added to the counters of older records.
constexpr Bytes least_counted = 240.0 * units::MB;

std::optional<double> ratio(double predicted, const std::optional<double>& counted) {
    if (!counted || *counted <= 0.0 || predicted <= 0.0) return std::nullopt;
    return predicted / *counted;
}

/// Operations whose executed FLOP are defined: the multiply-adds of a product. The instructions
/// that a compiler makes of an exponential or a reduction are not a count that a prediction could
/// match.
bool flop_defined(const model::Operation& operation) {
    return std::holds_alternative<model::Matmul>(operation) ||
           std::holds_alternative<model::Attention>(operation);
}

std::optional<double> flop_ratio(const Counters& counters, const model::Prediction& prediction) {
    const bool tensor = prediction.work.tensor > Flop{};
    const std::optional<Flop>& counted = tensor ? counters.tensor : counters.fma;
    if (!counted) return std::nullopt;
    const Flop executed = tensor ? prediction.executed_tensor : prediction.executed_fma;
    return ratio(executed.base(), counted->base());
}

void compare_counters(const Counters& counters, const model::Operation& operation,
                      Comparison& comparison) {
    const model::Work& work = comparison.prediction.work;
    if (counters.dram_read && counters.dram_write && work.dram() >= least_counted * work.kernels) {
        comparison.dram =
            ratio(work.dram().base(), (*counters.dram_read + *counters.dram_write).base());
    }
    if (counters.sm_l2) comparison.l2 = ratio(work.l2.base(), counters.sm_l2->base());
    if (flop_defined(operation)) comparison.flop = flop_ratio(counters, comparison.prediction);
    if (comparison.prediction.limiter == model::Resource::dram) comparison.work = comparison.dram;
    if (model::is_compute(comparison.prediction.limiter)) comparison.work = comparison.flop;
    if (comparison.work) comparison.rate = (1.0 + comparison.error) / *comparison.work;
}

/// Machines by the driver's name of the device; empty when the catalogue does not have the device.
class MachinesByDriverName {
  public:
    MachinesByDriverName(const model::Catalogue& catalogue, model::View view)
        : catalogue_(catalogue), view_(view) {}

    [[nodiscard]] const model::Machine* find(const std::string& device) {
        const auto known = machines_.find(device);
        if (known != machines_.end()) return known->second ? &*known->second : nullptr;
        std::optional<model::Machine> machine;
        const std::string name = catalogue_.canonical_name(device);
        if (!name.empty()) machine = catalogue_.machine(name, view_);
        const auto& stored = machines_.emplace(device, std::move(machine)).first->second;
        return stored ? &*stored : nullptr;
    }

  private:
    const model::Catalogue& catalogue_;
    model::View view_;
    std::map<std::string, std::optional<model::Machine>> machines_;
};

/// The ratios of those comparisons that have one.
std::vector<double> ratios_of(const std::vector<Comparison>& comparisons,
                              const std::vector<std::size_t>& members,
                              std::optional<double> Comparison::*ratio) {
    std::vector<double> values;
    for (const std::size_t member : members) {
        if (comparisons[member].*ratio) values.push_back(*(comparisons[member].*ratio));
    }
    return values;
}

std::optional<double> median_if(std::vector<double> values) {
    if (values.empty()) return std::nullopt;
    return median_of(std::move(values));
}

std::optional<double> mean_error_if(const std::vector<double>& ratios) {
    if (ratios.empty()) return std::nullopt;
    double sum = 0.0;
    for (const double value : ratios) sum += std::abs(value - 1.0);
    return sum / static_cast<double>(ratios.size());
}

void summarise_counters(const std::vector<Comparison>& comparisons,
                        const std::vector<std::size_t>& members, GroupSummary& summary) {
    const std::vector<double> dram = ratios_of(comparisons, members, &Comparison::dram);
    const std::vector<double> l2 = ratios_of(comparisons, members, &Comparison::l2);
    summary.dram_error = mean_error_if(dram);
    summary.l2_error = mean_error_if(l2);
    summary.dram = median_if(dram);
    summary.l2 = median_if(l2);
    summary.flop = median_if(ratios_of(comparisons, members, &Comparison::flop));
    summary.rate = median_if(ratios_of(comparisons, members, &Comparison::rate));
    summary.counted = std::count_if(members.begin(), members.end(), [&](std::size_t member) {
        const Comparison& comparison = comparisons[member];
        return comparison.dram || comparison.l2 || comparison.flop;
    });
}

GroupSummary summarise_group(const std::vector<Comparison>& comparisons,
                             std::vector<std::size_t> members) {
    GroupSummary summary;
    std::vector<TimeError> errors;
    errors.reserve(members.size());
    for (const std::size_t member : members) {
        errors.push_back(
            {.ratio = 1.0 + comparisons[member].error, .inside = comparisons[member].in_band});
    }
    summary.errors = summarise_errors(errors);
    summarise_counters(comparisons, members, summary);
    std::stable_sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
        return std::abs(comparisons[a].error) > std::abs(comparisons[b].error);
    });
    members.resize(std::min<std::size_t>(members.size(), 3));
    summary.worst = std::move(members);
    return summary;
}

void summarise_groups(std::span<const Record> records, Validation& validation) {
    std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> groups;
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < validation.comparisons.size(); ++i) {
        const Question& question = records[validation.comparisons[i].record].question;
        groups[{std::string(name_of(question.operation)),
                std::string(name_of(question.execution.implementation))}]
            .push_back(i);
        all.push_back(i);
    }
    for (auto& [name, members] : groups) {
        GroupSummary summary = summarise_group(validation.comparisons, std::move(members));
        summary.operation = name.first;
        summary.implementation = name.second;
        validation.groups.push_back(std::move(summary));
    }
    if (!all.empty()) validation.overall = summarise_group(validation.comparisons, std::move(all));
}

/// Keys that have a time: for these, a failure that was measured later does not count as unused.
std::set<std::string> measured_keys(std::span<const Record> records) {
    std::set<std::string> keys;
    for (const Record& record : records) {
        if (record.measured()) keys.insert(key_of(record));
    }
    return keys;
}

}  // namespace

Validation validate(std::span<const Record> records, const model::Catalogue& catalogue,
                    model::View view) {
    Validation validation;
    MachinesByDriverName machines(catalogue, view);
    const std::set<std::string> measured = measured_keys(records);
    const auto leave_out = [&](std::size_t record, std::string reason) {
        validation.unused.push_back({.record = record, .reason = std::move(reason)});
    };
    for (std::size_t i = 0; i < records.size(); ++i) {
        const Record& record = records[i];
        if (!record.measured()) {
            if (!measured.contains(key_of(record))) {
                leave_out(i, "not measured: " + record.failure.value_or("no samples"));
            }
            continue;
        }
        if (record.row && !record.row->unknown_implementation.empty()) {
            leave_out(i,
                      "impl " + record.row->unknown_implementation + " is not known to the model");
            continue;
        }
        const model::Machine* machine = machines.find(record.device.name);
        if (machine == nullptr) {
            leave_out(i, "no GPU description is called '" + record.device.name + "'");
            continue;
        }
        const model::Outcome outcome =
            model::predict(record.question.operation, record.question.execution, *machine);
        if (const auto* unmodelled = std::get_if<model::NotModelled>(&outcome)) {
            leave_out(i, "not modelled: " + unmodelled->reason);
            continue;
        }
        Comparison comparison{.record = i,
                              .device = machine->name,
                              .prediction = std::get<model::Prediction>(outcome)};
        comparison.error = comparison.prediction.time.in(record.time()) - 1.0;
        comparison.in_band = model::in_band(comparison.prediction, record.time());
        if (const auto* counters = std::get_if<Counters>(&record.counters)) {
            compare_counters(*counters, record.question.operation, comparison);
        }
        validation.comparisons.push_back(std::move(comparison));
    }
    summarise_groups(records, validation);
    return validation;
}

std::vector<const GroupSummary*> exceeding(const Validation& validation, double bound) {
    std::vector<const GroupSummary*> groups;
    for (const GroupSummary& group : validation.groups) {
        if (group.errors.median > bound) groups.push_back(&group);
    }
    return groups;
}

}  // namespace ridge::measure
