#include "cli/charts/roofline_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/charts/record_labels.h"
#include "effects/chart.h"
#include "hardware/algorithms.h"
#include "hardware/schema.h"
#include "hardware/si.h"
#include "hardware/units.h"
#include "model/explain.h"
#include "model/roof/account.h"
#include "model/roof/roofline.h"

namespace ridge::cli {
namespace {

using model::DataType;

using si::tera;

plot::MemoryRoof memory_roof(plot::Resource resource, Bandwidth bandwidth, plot::Evidence evidence,
                             std::string source) {
    return {.name = std::string(name_of(resource)),
            .resource = resource,
            .value = format(bandwidth),
            .slope = bandwidth.base() / tera,
            .evidence = evidence,
            .emphasised = false,
            .terms = {{"bandwidth", format(bandwidth)}, {"source", std::move(source)}}};
}

plot::ComputeRoof compute_roof(DataType type, plot::Resource resource, std::string name,
                               FlopRate rate, plot::Evidence evidence, std::string source) {
    return {.type = std::string(name_of(type)),
            .name = std::move(name),
            .resource = resource,
            .value = format(rate),
            .rate = rate.base() / tera,
            .evidence = evidence,
            .emphasised = false,
            .terms = {{"peak", format(rate)}, {"source", std::move(source)}}};
}

void add_memory_roofs(plot::Roofline& chart, const model::Roofs& roofs,
                      const hardware::Description& gpu) {
    using plot::Resource;
    struct Level {
        Resource resource;
        std::optional<Bandwidth> datasheet;
        const char* measured;
    };
    // If the L2 was measured, the measured bandwidth is the only one.
    const bool l2_measured = gpu.find("measured.l2.read") != nullptr;
    const std::array levels = {
        Level{Resource::dram, roofs.dram, "measured.dram.read"},
        Level{Resource::l2, l2_measured ? std::nullopt : roofs.l2, "measured.l2.read"},
        Level{Resource::shared, roofs.shared, "measured.shared.read"}};
    for (const Level& level : levels) {
        if (level.datasheet) {
            chart.memory.push_back(memory_roof(level.resource, *level.datasheet,
                                               plot::Evidence::datasheet, "datasheet"));
        }
        if (const auto bandwidth = gpu.quantity<Bandwidth>(level.measured)) {
            chart.memory.push_back(
                memory_roof(level.resource, *bandwidth, plot::Evidence::measured, level.measured));
        }
    }
    if (!chart.memory.empty()) chart.memory.front().emphasised = true;
}

/// Tensor and vector peaks of a type; the burst peak only if there is one type to show.
void add_compute_roofs(plot::Roofline& chart, const model::Machine& machine,
                       const hardware::Description& gpu, DataType type, bool alone) {
    using plot::Resource;
    const model::Roofs roofs = model::roofs_of(machine, type);
    const auto measured = [&](DataType of, Resource resource, const std::string& name,
                              const std::string& path) {
        if (hardware::device_schema().find(path) == nullptr) return;
        const auto rate = gpu.quantity<FlopRate>(path);
        if (!rate) return;
        chart.compute.push_back(
            compute_roof(of, resource, name, *rate, plot::Evidence::measured, path));
    };
    if (roofs.tensor) {
        chart.compute.push_back(compute_roof(type, Resource::tensor, "tensor", *roofs.tensor,
                                             plot::Evidence::datasheet, "datasheet"));
        const std::string path = fmt::format("measured.tensor.{}.", name_of(type));
        if (alone) measured(type, Resource::tensor, "tensor, burst", path + "burst");
        measured(type, Resource::tensor, "tensor, sustained", path + "sustained");
    }
    // 16- and 8-bit elements are computed in fp32 on the vector pipe.
    const DataType vector = type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
    if (roofs.vector) {
        chart.compute.push_back(compute_roof(vector, Resource::fma, "FMA", *roofs.vector,
                                             plot::Evidence::datasheet, "datasheet"));
        measured(vector, Resource::fma, "FMA", fmt::format("measured.fma.{}", name_of(vector)));
    }
}

void emphasise(plot::Roofline& chart, DataType type, bool tensor) {
    const auto roof = algorithms::find_if(chart.compute, [&](const plot::ComputeRoof& each) {
        return each.evidence == plot::Evidence::datasheet &&
               (each.resource == plot::Resource::tensor) == tensor &&
               (!tensor || each.type == name_of(type));
    });
    if (roof != chart.compute.end()) roof->emphasised = true;
    if (roof == chart.compute.end() && tensor) emphasise(chart, type, false);
}

/// Bytes that the L2 sent, a line to several multiprocessors at once counted once, as below its roof.
Bytes sent_once(const model::Prediction& p, const model::Machine& machine) {
    const Bandwidth ceiling = model::l2_ceiling(machine);
    return ceiling > Bandwidth{} ? std::min(p.work.l2, ceiling * p.time) : p.work.l2;
}

std::string joined(const std::set<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
    return out;
}

}  // namespace

plot::Roofline roofs_alone(const model::Machine& machine, const hardware::Description& gpu,
                           const std::set<DataType>& types, DataType main) {
    plot::Roofline chart;
    chart.title = machine.title;
    add_memory_roofs(chart, model::roofs_of(machine, main), gpu);
    for (const DataType type : types) add_compute_roofs(chart, machine, gpu, type, false);
    emphasise(chart, main, true);
    return chart;
}

void RooflineCharts::add(const Answer& answer, const std::string& called) {
    const std::string name = called.empty() ? label_of(answer.operation, answer.execution) : called;
    const auto* p = std::get_if<model::Prediction>(&answer.outcome);
    if (p == nullptr) {
        notes_.push_back(name + ": " + std::get<model::NotModelled>(answer.outcome).reason);
        return;
    }
    add(name, answer.operation, text_of(answer.kind, answer.parameters), *p, std::nullopt);
}

void RooflineCharts::add(const measure::Comparison& comparison, const measure::Record& record) {
    Measured measured{.time = record.time()};
    measured.dram = counted_dram(comparison, record);
    if (const auto* counters = std::get_if<measure::Counters>(&record.counters)) {
        measured.l2 = counters->sm_l2;
        measured.shared = counters->shared;
    }
    add(label_of(record.question), record.question.operation, canonical_text(record.question),
        comparison.prediction, measured);
}

void RooflineCharts::add(const std::string& name, const model::Operation& operation,
                         const model::Prediction& prediction, Time measured, double radius) {
    add(name, operation, std::string(name_of(operation)), prediction,
        Measured{.time = measured, .radius = radius});
}

void RooflineCharts::add(const std::string& name, const measure::Record& record,
                         const model::Work& work) {
    const model::Operation& operation = record.question.operation;
    const FlopRate rate = work.flop() / record.time();
    const Intensity intensity = work.flop() / work.compulsory();
    Standing standing{.operation = std::string(name_of(operation)), .type = type_of(operation)};
    standing.tensor = work.tensor > Flop{};
    standing.measured = true;
    standing.points.push_back({.name = name,
                               .series = {},
                               .level = plot::Resource::dram,
                               .x = intensity.base(),
                               .y = rate.base() / tera,
                               .origin = plot::Origin::measured,
                               .order = record.time().base(),
                               .terms = {{"question", canonical_text(record.question)},
                                         {"measured time", format(record.time(), 4)},
                                         {"measured", format(rate)},
                                         {"algorithmic intensity", format(intensity)}}});
    standings_.push_back(std::move(standing));
}

void RooflineCharts::add(const CountedKernel& kernel) {
    const Intensity intensity = kernel.flop / kernel.dram;
    const FlopRate rate = kernel.flop / kernel.measured;
    const DataType type = kernel.tensor ? DataType::bf16 : DataType::fp32;
    const model::Roofs roofs = model::roofs_of(machine_, type);
    Standing standing{.operation = "kernel",
                      .type = type,
                      .tensor = kernel.tensor,
                      .counted = true,
                      .measured = true,
                      .recorded = true};
    plot::OperationPoint point{.name = kernel.name,
                               .series = {},
                               .level = plot::Resource::dram,
                               .x = intensity.base(),
                               .y = rate.base() / tera,
                               .origin = plot::Origin::measured,
                               .order = -kernel.radius,
                               .radius = kernel.radius,
                               .terms = {{"measured time", format(kernel.measured)},
                                         {"measured", format(rate)},
                                         {"DRAM intensity, counted", format(intensity)}}};
    if (const auto peak = kernel.tensor ? roofs.tensor : roofs.vector) {
        const FlopRate attainable = std::min(*peak, intensity * roofs.dram);
        point.terms.push_back({"attainable", format(attainable), attainable.base()});
    }
    if (kernel.predicted && *kernel.predicted > Time{}) {
        point.terms.push_back({"predicted time", format(*kernel.predicted)});
        point.terms.push_back(error_term(*kernel.predicted, kernel.measured));
        point.terms.push_back({"evidence", std::string(name_of(kernel.evidence))});
        plot::OperationPoint predicted = point;
        predicted.origin = effects::origin_of(kernel.evidence);
        predicted.y = (kernel.flop / *kernel.predicted).base() / tera;
        standing.points.push_back(std::move(predicted));
    }
    standing.points.push_back(std::move(point));
    standings_.push_back(std::move(standing));
}

/// The tooltip of a mark: the question, the prediction and the measurement.
std::vector<plot::Term> RooflineCharts::terms_beside(const model::Prediction& p,
                                                     const std::string& question,
                                                     const std::optional<Measured>& measured) {
    std::vector<plot::Term> terms{{"question", question}};
    const std::optional<Time> time = measured ? std::optional(measured->time) : std::nullopt;
    for (plot::Term& term : terms_of(p, time)) terms.push_back(std::move(term));
    if (measured && measured->dram) {
        const Intensity counted = p.work.flop() / *measured->dram;
        terms.push_back({"DRAM intensity, counted", format(counted), counted.base()});
    }
    return terms;
}

void RooflineCharts::add(const std::string& name, const model::Operation& operation,
                         const std::string& question, const model::Prediction& p,
                         const std::optional<Measured>& measured) {
    const Flop flop = p.work.flop();
    if (p.algorithmic <= Intensity{} || p.time <= Time{}) {
        ++skipped_[std::string(name_of(operation))];
        return;
    }
    Standing standing{.operation = std::string(name_of(operation)), .type = type_of(operation)};
    standing.tensor = p.work.tensor > Flop{};
    standing.from_l2 = model::served_from_l2(p.work);
    standing.measured = measured.has_value();
    standing.recorded = measured && measured->radius;
    standing.counted = measured && measured->dram && !standing.from_l2;
    const std::string full_name = name + (standing.from_l2 ? " (from L2)" : "");
    const std::vector<plot::Term> terms = terms_beside(p, question, measured);
    // Operators of a program are ordered by time, longest first.
    const double order = measured && measured->radius ? -*measured->radius
                         : measured                   ? measured->time.base()
                                                      : p.time.base();
    const auto stand = [&](plot::Resource level, Intensity at, Intensity counted) {
        plot::OperationPoint point{.name = full_name,
                                   .series = {},
                                   .level = level,
                                   .x = at.base(),
                                   .y = (flop / p.time).base() / tera,
                                   .origin = effects::origin_of(p.evidence.grade()),
                                   .order = order,
                                   .radius = measured ? measured->radius : std::nullopt,
                                   .terms = terms};
        if (!measured && p.low > Time{} && p.high > Time{}) {
            point.low = (flop / p.high).base() / tera;
            point.high = (flop / p.low).base() / tera;
        }
        standing.points.push_back(point);
        if (!measured) return;
        point.origin = plot::Origin::measured;
        point.x = counted.base();
        point.y = (flop / measured->time).base() / tera;
        standing.points.push_back(std::move(point));
    };
    using plot::Resource;
    const bool all = levels_ == Levels::all;
    const Intensity dram = standing.from_l2 ? p.algorithmic : p.intensity;
    // With all levels, data that L2 serves has its point at the L2 level only.
    if (!all || !standing.from_l2 || p.work.l2 <= Bytes{}) {
        stand(standing.from_l2 ? Resource::l2 : Resource::dram, dram,
              standing.counted ? flop / *measured->dram : dram);
    }
    const auto stand_inside = [&](Resource level, Bytes moved, std::optional<Bytes> counted) {
        if (moved <= Bytes{}) return;
        const bool usable = counted && *counted > Bytes{};
        stand(level, flop / moved, flop / (usable ? *counted : moved));
    };
    if (all) {
        const Bytes once = sent_once(p, machine_);
        stand_inside(Resource::l2, once, measured ? measured->l2 : std::nullopt);
        stand_inside(Resource::shared, p.work.shared, measured ? measured->shared : std::nullopt);
    }
    standings_.push_back(std::move(standing));
}

std::vector<RooflineCharts::Group> RooflineCharts::groups() const {
    constexpr std::size_t most_together = 40;
    constexpr std::size_t most_of_operation = 60;
    if (standings_.size() <= most_together) {
        Group all;
        for (const Standing& standing : standings_) all.push_back(&standing);
        return {all};
    }
    std::map<std::string, Group> by_operation;
    for (const Standing& standing : standings_) {
        by_operation[standing.operation].push_back(&standing);
    }
    std::vector<Group> out;
    for (auto& [operation, group] : by_operation) {
        std::map<DataType, std::size_t> counts;
        for (const Standing* const standing : group) ++counts[standing->type];
        const auto main =
            algorithms::max_element(counts, [](const auto& count) { return count.second; });
        if (group.size() <= most_of_operation || counts.size() < 2) {
            out.push_back(std::move(group));
            continue;
        }
        // The type with most points gets its own chart; the other types share one.
        const auto rest = std::stable_partition(
            group.begin(), group.end(),
            [&main](const Standing* each) { return each->type == main->first; });
        out.emplace_back(group.begin(), rest);
        out.emplace_back(rest, group.end());
    }
    return out;
}

/// A chart with the roofs of the group's types or, if the group is empty, of `otherwise`.
plot::Roofline RooflineCharts::chart_of(const Group& group, DataType otherwise) const {
    std::map<DataType, std::size_t> counts;
    for (const Standing* const standing : group) ++counts[standing->type];
    if (counts.empty()) counts[otherwise] = 1;
    const DataType main =
        algorithms::max_element(counts, [](const auto& count) { return count.second; })->first;
    plot::Roofline chart;
    std::set<std::string> operations;
    std::string type_names;
    bool counted = false;
    bool measured = false;
    bool from_l2 = false;
    bool tensor = group.empty();
    for (const auto& [type, count] : counts) {
        type_names += (type_names.empty() ? "" : ", ") + std::string(name_of(type));
    }
    for (const Standing* const standing : group) {
        operations.insert(standing->operation);
        counted = counted || standing->counted;
        measured = measured || standing->measured;
        from_l2 = from_l2 || standing->from_l2;
        tensor = tensor || standing->tensor;
    }
    chart.title = machine_.title;
    if (operations.size() == 1) chart.title += ": " + *operations.begin();
    if (operations.size() == 1 && counts.size() == 1) chart.title += " " + type_names;
    chart.subtitle = type_names + (group.empty() ? ": datasheet peaks, dense" : ": FLOP per ");
    if (!group.empty()) {
        const bool all = levels_ == Levels::all;
        chart.subtitle += all ? "byte of the level" : "byte of DRAM";
        chart.subtitle += counted ? ", predicted or counted" : ", predicted";
        if (from_l2 && !all) chart.subtitle += "; from L2: per algorithmic byte";
    }
    add_memory_roofs(chart, model::roofs_of(machine_, main), gpu_);
    for (const auto& [type, count] : counts) {
        add_compute_roofs(chart, machine_, gpu_, type, counts.size() == 1);
    }
    emphasise(chart, main, tensor);
    for (const Standing* const standing : group) {
        for (plot::OperationPoint point : standing->points) {
            if (operations.size() > 1) point.series = standing->operation;
            chart.points.push_back(std::move(point));
        }
    }
    chart.key_terms = {"predicted time", "predicted", "attainable", "DRAM intensity, predicted",
                       "evidence"};
    if (measured) {
        chart.key_terms = {"measured time", "predicted time", "error",
                           "measured",      "attainable",     "evidence"};
    }
    return chart;
}

plot::Roofline RooflineCharts::whole(DataType type) const {
    Group all;
    for (const Standing& standing : standings_) all.push_back(&standing);
    plot::Roofline roofline = chart_of(all, type);
    roofline.notes = closing_notes();
    return roofline;
}

std::vector<plot::Chart> RooflineCharts::finish(DataType type) const {
    std::vector<plot::Chart> out;
    for (const Group& group : groups()) {
        plot::Roofline chart = chart_of(group, type);
        const auto uncounted = algorithms::count_if(group, [](const Standing* each) {
            return each->measured && !each->recorded && !each->counted && !each->from_l2;
        });
        if (uncounted > 0) {
            chart.notes.push_back(
                fmt::format("{} of {} measured points are drawn at the predicted bytes: counters "
                            "are missing or "
                            "hold too few bytes to compare.",
                            uncounted, group.size()));
        }
        out.push_back(plot::roofline_chart(chart));
    }
    for (std::string& note : closing_notes()) out.back().notes.push_back(std::move(note));
    return out;
}

/// Notes on operations that no chart shows, and the notes that callers added.
std::vector<std::string> RooflineCharts::closing_notes() const {
    std::vector<std::string> notes;
    std::size_t skipped = 0;
    std::set<std::string> names;
    for (const auto& [name, count] : skipped_) {
        skipped += count;
        names.insert(name);
    }
    if (skipped > 0) {
        notes.push_back(fmt::format("{} operation{} without arithmetic {} not drawn: {}.", skipped,
                                    skipped == 1 ? "" : "s", skipped == 1 ? "is" : "are",
                                    joined(names)));
    }
    notes.insert(notes.end(), notes_.begin(), notes_.end());
    return notes;
}

}  // namespace ridge::cli
