#include "measure/cuda/inject/counter_sets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>

#include "hardware/error.h"
#include "measure/cuda/counters/cause_metrics.h"
#include "measure/cuda/counters/pass_groups.h"

namespace ridge::measure::cuda {
namespace {

/// The set of a metric. Empty for metrics that reports do not show, or that count tensor work by
/// type.
std::optional<std::size_t> part_of(const Metric& metric) {
    if (metric.name.starts_with("smsp__sass_")) return 1;
    switch (metric.meaning) {
        case Meaning::sm_l2:
        case Meaning::sm_clock:
        case Meaning::dram_clock:
        case Meaning::informative:
            return std::nullopt;
        case Meaning::hmma_instructions:
        case Meaning::gmma_instructions:
            return 2;
        case Meaning::tensor:
            // The types that fit in beside everything else.
            return metric.name.ends_with("tensor_src_fp8.sum") ||
                           metric.name.ends_with("hgmma_src_bf16_dst_fp32.sum") ||
                           metric.name.ends_with("hgmma_src_fp16.sum")
                       ? std::optional<std::size_t>(0)
                       : std::nullopt;
        default:
            return 0;
    }
}

bool holds(std::span<const Metric> metrics, Meaning meaning) {
    return std::any_of(metrics.begin(), metrics.end(),
                       [meaning](const Metric& metric) { return metric.meaning == meaning; });
}

/// The sum of the metrics that contribute to `meaning` and whose names contain `part`.
double sum_of(std::span<const KernelValues> seen, Meaning meaning, std::string_view part = {}) {
    double sum = 0.0;
    for (const KernelValues& kernel : seen) {
        for (std::size_t i = 0; i < kernel.values.size(); ++i) {
            const Metric& metric = kernel.metrics[i];
            const bool named = metric.name.find(part) != std::string_view::npos;
            if (metric.meaning == meaning && named) sum += kernel.values[i];
        }
    }
    return sum;
}

bool holds_no_number(const std::vector<double>& values) {
    return std::none_of(values.begin(), values.end(),
                        [](double value) { return std::isfinite(value); });
}

}  // namespace

CounterSets::CounterSets(const Cupti& cupti, std::string chip)
    : cupti_(&cupti),
      chip_(std::move(chip)),
      host_(std::make_unique<HostProfiler>(cupti, chip_, std::span<const std::uint8_t>())) {
    add_work();
    types_ = sets_.size();
    add_types();
    causes_ = sets_.size();
    for (const std::vector<Metric>& set : cause_sets()) add(known_metrics(set));
    gather();
}

void CounterSets::add_work() {
    constexpr std::array groups{CounterGroup::traffic, CounterGroup::arithmetic,
                                CounterGroup::tensor};
    std::array<std::vector<Metric>, 3> parts;
    for (const Metric& metric : metrics_of(groups)) {
        if (const auto part = part_of(metric)) parts[*part].push_back(metric);
    }
    std::vector<Metric> of_all = known_metrics(parts[0]);
    if (!holds(of_all, Meaning::tensor_active)) {
        // In that case instructions show whether there is tensor work.
        const std::vector<Metric> instructions = known_metrics(parts[2]);
        of_all.insert(of_all.end(), instructions.begin(), instructions.end());
    }
    const auto with = [this](std::vector<Metric> metrics, std::span<const Metric> more) {
        metrics.insert(metrics.end(), more.begin(), more.end());
        return known_metrics(metrics);
    };
    const std::vector<Metric> fuller = with(of_all, cause_metrics_beside_traffic());
    add(plan_profile(*cupti_, chip_, fuller, {}).passes <= 1 ? fuller : of_all);
    add(with(parts[1], cause_metrics_of_software()));
}

void CounterSets::add_types() {
    for (const std::vector<Metric>& type : single_tensor_types()) {
        const std::vector<Metric> known = known_metrics(type);
        if (!known.empty() && known.front().name == type.front().name) add(known);
    }
    if (sets_.size() == types_) {
        for (const Metric& type : accepted_metrics(*cupti_, chip_, tensor_types())) add({type});
    }
}

void CounterSets::gather() {
    std::vector<std::vector<Metric>> groups(sets_.size());
    for (unsigned set = 0; set < sets_.size(); ++set) groups[pass_of(set)] = sets_[set].metrics;
    together_.image = image_of_groups(chip_, groups);
    if (together_.image.empty()) return;
    together_.passes = groups.size();
    for (const std::vector<Metric>& group : groups) {
        together_.metrics.insert(together_.metrics.end(), group.begin(), group.end());
    }
}

std::size_t CounterSets::pass_of(unsigned set) const {
    const auto is_software = [](const ProfilePlan& plan) {
        return plan.metrics.front().name.starts_with("smsp__sass_");
    };
    std::size_t before = 0;
    for (unsigned other = 0; other < sets_.size(); ++other) {
        const bool earlier = is_software(sets_[other]) == is_software(sets_[set])
                                 ? other < set
                                 : is_software(sets_[set]);
        if (earlier) ++before;
    }
    return before;
}

std::vector<Metric> CounterSets::known_metrics(const std::vector<Metric>& metrics) const {
    // Nearly all metrics are known, and one query is faster than one per metric.
    const HostProfiler host(*cupti_, chip_, {});
    if (host.add(metrics) == CUPTI_SUCCESS) return metrics;
    return accepted_metrics(*cupti_, chip_, metrics);
}

void CounterSets::add(const std::vector<Metric>& metrics) {
    constexpr std::size_t most_sets = 24;  // sets are bits of an integer
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
    return bits(types_, causes_);
}

std::uint32_t CounterSets::types_of(std::span<const KernelValues> seen) const {
    const bool active = sum_of(seen, Meaning::tensor_active) > 0.0;
    const auto has = [seen](Meaning meaning) {
        return std::any_of(seen.begin(), seen.end(), [meaning](const KernelValues& kernel) {
            return holds(kernel.metrics, meaning);
        });
    };
    if (active && sum_of(seen, Meaning::tensor) == 0.0) return by_type();
    if (has(Meaning::hmma_instructions) && needs_tensor_types(seen)) return by_type();
    // fp64 products use another pipe, and vector instructions scale them.
    if (sum_of(seen, Meaning::fma, "_op_d") == 0.0) return 0;
    std::uint32_t types = 0;
    for (std::size_t set = types_; set < causes_; ++set) {
        const auto& metrics = sets_[set].metrics;
        const bool fp64 = std::any_of(metrics.begin(), metrics.end(), [](const Metric& metric) {
            return metric.name.find("fp64") != std::string_view::npos;
        });
        if (fp64) types |= std::uint32_t{1} << set;
    }
    return types;
}

std::uint32_t CounterSets::likeliest_type(std::string_view kernel, std::uint32_t among) const {
    // Words in kernel names, and the counters that they suggest.
    constexpr std::array<std::pair<std::string_view, std::string_view>, 11> words{
        {{"nvjet", "bf16"},  // wgmma of any type is counted there
         {"gmma", "bf16"},
         {"sm90", "bf16"},
         {"bf16", "bf16"},
         {"bfloat16", "bf16"},
         {"tf32", "tf32"},
         {"f16", "fp16"},
         {"half", "fp16"},
         {"fp16", "fp16"},
         {"i8", "int8"},
         {"int8", "int8"}}};
    for (const auto& [word, type] : words) {
        if (kernel.find(word) == kernel.npos) continue;
        for (std::size_t set = types_; set < causes_; ++set) {
            const std::string_view metric = sets_[set].metrics.front().name;
            const auto bit = std::uint32_t{1} << set;
            if ((among & bit) != 0 && metric.find(type) != metric.npos) return bit;
        }
    }
    return std::uint32_t{1} << static_cast<unsigned>(std::countr_zero(among));
}

const ProfilePlan& ContextCounter::plan_of(unsigned set) const {
    return together_ ? sets_->together() : (*sets_)[set];
}

void ContextCounter::open(unsigned set) {
    // An object keeps the first configuration that it was started with, and accepts only images
    // that it made itself.
    profiler_.reset();
    profiler_ = std::make_unique<RangeProfiler>(*cupti_, context_);
    data_ = profiler_->empty_data(plan_of(set).metrics, ranges_);
    next_pass_ = together_ ? sets_->pass_of(set) : 0;
}

void ContextCounter::go_to(std::size_t pass) {
    for (std::size_t i = 0; i < sets_->size() && next_pass_ != pass; ++i) {
        profiler_->configure(sets_->together(), data_, ranges_, CUPTI_UserReplay, next_pass_);
        profiler_->start();
        next_pass_ = profiler_->stop().next_pass;
    }
}

unsigned ContextCounter::nearest(std::uint32_t among) const {
    unsigned best = static_cast<unsigned>(std::countr_zero(among));
    if (!together_) return best;
    const auto steps = [this](unsigned set) {
        const std::size_t passes = sets_->size();
        return (sets_->pass_of(set) + passes - next_pass_) % passes;
    };
    for (unsigned set = best + 1; set < sets_->size(); ++set) {
        if ((among >> set & 1U) != 0 && steps(set) < steps(best)) best = set;
    }
    return best;
}

void ContextCounter::begin(unsigned set) {
    if (profiler_ && together_) go_to(sets_->pass_of(set));
    const bool goes_on =
        profiler_ && (together_ ? next_pass_ == sets_->pass_of(set) : running_ == set);
    if (goes_on) {
        profiler_->clear(data_);
    } else {
        open(set);
    }
    profiler_->configure(plan_of(set), data_, ranges_, CUPTI_UserReplay, next_pass_);
    profiler_->start();
    running_ = set;
}

void ContextCounter::start(unsigned set) {
    try {
        begin(set);
    } catch (const DeviceError&) {
        if (!together_) throw;
        apart();
        begin(set);
    }
}

void ContextCounter::apart() {
    together_ = false;
    profiler_.reset();
}

std::vector<std::vector<double>> ContextCounter::stop() {
    next_pass_ = profiler_->stop().next_pass;
    profiler_->decode();
    std::vector<std::vector<double>> rows;
    const std::size_t ranges = ranges_in(*cupti_, data_);
    for (std::size_t i = 0; i < ranges; ++i) {
        rows.push_back(sets_->host().evaluate((*sets_)[running_].metrics, data_, i));
    }
    if (together_ && !rows.empty() && std::all_of(rows.begin(), rows.end(), holds_no_number)) {
        apart();  // the passes have another order here
        rows.clear();
    }
    return rows;
}

}  // namespace ridge::measure::cuda
