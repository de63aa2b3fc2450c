#include "measure/cuda/inject/counter_sets.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "measure/cuda/inject/set_turns.h"

namespace ridge::measure::cuda {
namespace {

/// Sets that one pass of GH100 takes; what a report does not show is left out.
std::optional<std::size_t> set_of(const Metric& metric) {
    if (metric.name.starts_with("smsp__sass_")) return 1;
    switch (metric.meaning) {
        case Meaning::sm_l2:
        case Meaning::sm_clock:
        case Meaning::dram_clock:
        case Meaning::informative:
            return std::nullopt;
        case Meaning::occupancy:
        case Meaning::tensor_active:
            return 2;
        case Meaning::tensor: {
            // Those that do not fit beside the others.
            const bool apart = metric.name.find("fp64") != std::string_view::npos;
            const bool last = metric.name.find("int8") != std::string_view::npos;
            if (last) return std::nullopt;  // counted by type
            return apart ? 2 : 0;
        }
        default:
            return 0;
    }
}

}  // namespace

CounterSets::CounterSets(const Cupti& cupti, std::string chip)
    : cupti_(&cupti),
      chip_(std::move(chip)),
      host_(std::make_unique<HostProfiler>(cupti, chip_, std::span<const std::uint8_t>())) {
    constexpr std::array groups{CounterGroup::traffic, CounterGroup::arithmetic,
                                CounterGroup::tensor};
    std::array<std::vector<Metric>, 3> parts;
    for (const Metric& metric : metrics_of(groups)) {
        if (const auto set = set_of(metric)) parts[*set].push_back(metric);
    }
    for (const auto& part : parts) add(known_metrics(part));
    common_ = sets_.size();
    const auto known_types = [&](std::span<const Metric> types) {
        return accepted_metrics(cupti, chip_, types);
    };
    std::vector<Metric> types = known_types(single_tensor_types());
    if (types.empty()) types = known_types(tensor_types());
    for (const Metric& type : types) add({type});
}

std::vector<Metric> CounterSets::known_metrics(const std::vector<Metric>& metrics) const {
    // Mostly all are known, and one question is quicker than one each.
    const HostProfiler host(*cupti_, chip_, {});
    if (host.add(metrics) == CUPTI_SUCCESS) return metrics;
    return accepted_metrics(*cupti_, chip_, metrics);
}

void CounterSets::add(const std::vector<Metric>& metrics) {
    constexpr std::size_t most_sets = 24;  // they are bits of a number
    if (metrics.empty() || sets_.size() >= most_sets) return;
    ProfilePlan plan = plan_profile(*cupti_, chip_, metrics, {});
    if (plan.passes <= 1) {
        sets_.push_back(std::move(plan));
    } else if (metrics.size() > 1) {
        const auto middle = metrics.begin() + static_cast<std::ptrdiff_t>(metrics.size() / 2);
        add({metrics.begin(), middle});
        add({middle, metrics.end()});
    }
}

std::uint32_t CounterSets::by_type() const {
    return ((1U << sets_.size()) - 1) & ~common();
}

std::uint32_t CounterSets::likeliest_type(std::string_view kernel, std::uint32_t among) const {
    // In the words of kernels' names, and of the counters that belong to them.
    constexpr std::array<std::pair<std::string_view, std::string_view>, 8> words{
        {{"bf16", "bf16"},
         {"bfloat16", "bf16"},
         {"tf32", "tf32"},
         {"f16", "fp16"},
         {"half", "fp16"},
         {"fp16", "fp16"},
         {"i8", "int8"},
         {"int8", "int8"}}};
    for (const auto& [word, type] : words) {
        if (kernel.find(word) == kernel.npos) continue;
        for (std::size_t set = common_; set < sets_.size(); ++set) {
            const std::string_view metric = sets_[set].metrics.front().name;
            const auto bit = std::uint32_t{1} << set;
            if ((among & bit) != 0 && metric.find(type) != metric.npos) return bit;
        }
    }
    return std::uint32_t{1} << static_cast<unsigned>(std::countr_zero(among));
}

void ContextCounter::start(unsigned set) {
    const ProfilePlan& plan = (*sets_)[set];
    std::vector<std::uint8_t>& data = data_[set];
    if (profiler_ && configured_ == set) {
        profiler_->clear(data);
    } else {
        // An object keeps the configuration that it was started with first, and knows only images that
        // it has made itself.
        profiler_.reset();
        profiler_ = std::make_unique<RangeProfiler>(*cupti_, context_);
        data = profiler_->empty_data(plan.metrics, SetTurns::most_launches);
        configured_ = set;
    }
    profiler_->configure(plan, data, SetTurns::most_launches, CUPTI_UserReplay);
    profiler_->start();
    running_ = set;
}

std::vector<std::vector<double>> ContextCounter::stop() {
    static_cast<void>(profiler_->stop());
    profiler_->decode();
    std::vector<std::vector<double>> rows;
    const std::vector<std::uint8_t>& data = data_[running_];
    const std::size_t ranges = ranges_in(*cupti_, data);
    for (std::size_t i = 0; i < ranges; ++i) {
        rows.push_back(sets_->host().evaluate((*sets_)[running_].metrics, data, i));
    }
    return rows;
}

}  // namespace ridge::measure::cuda
