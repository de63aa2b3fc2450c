// The range profiler; see counters.h.
#include "measure/cuda/counters/counters.h"

#include <algorithm>

#include "measure/cuda/counters/range_profiler.h"
#include "measure/cuda/libraries/driver.h"
#include "measure/cuda/memory/handles.h"

namespace ridge::measure::cuda {

Maybe<std::unique_ptr<CounterProfiler>> CounterProfiler::open(int ordinal) {
    const auto& found = cupti();
    if (const auto* missing = std::get_if<Unavailable>(&found)) return *missing;
    const auto& table = std::get<Cupti>(found);
    auto chip = ProfiledChip::of(table, ordinal, current_context());
    if (auto* missing = std::get_if<Unavailable>(&chip)) return *std::move(missing);
    auto& known = std::get<ProfiledChip>(chip);
    return std::unique_ptr<CounterProfiler>(
        new CounterProfiler(table, std::move(known.name), std::move(known.availability)));
}

const ProfilePlan& CounterProfiler::plan_of(const std::string& key,
                                            std::span<const Metric> metrics) {
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
    ProfilePlan plan = plan_profile(
        *cupti_, chip_, accepted_metrics(*cupti_, chip_, metrics, availability_), availability_);
    return plans_.emplace(key, std::move(plan)).first->second;
}

std::vector<std::vector<double>> CounterProfiler::rows(const ProfiledRun& run,
                                                       const ProfilePlan& plan) {
    const std::size_t kernels = std::max<std::size_t>(run.kernels, 1);
    const std::size_t most = kernels + run.settling_kernels + 2;
    std::vector<std::uint8_t> data;
    {
        const RangeProfiler profiler(*cupti_, current_context());
        data = profiler.empty_data(plan.metrics, most);
        profiler.configure(plan, data, most, CUPTI_UserReplay);
        for (bool finished = false; !finished;) {
            profiler.start();
            if (run.settle) run.settle();
            require(cudaStreamSynchronize(run.stream), "cudaStreamSynchronize");
            run.launch(run.stream);
            require(cudaStreamSynchronize(run.stream), "cudaStreamSynchronize");
            finished = profiler.stop().all;
        }
        profiler.decode();
    }
    const HostProfiler host(*cupti_, chip_, availability_);
    std::vector<std::vector<double>> rows;
    const std::size_t ranges = ranges_in(*cupti_, data);
    for (std::size_t i = ranges - std::min(ranges, kernels); i < ranges; ++i) {
        rows.push_back(host.evaluate(plan.metrics, data, i));
    }
    return rows;
}

Maybe<Counters> CounterProfiler::collect(const ProfiledRun& run,
                                         std::span<const CounterGroup> groups) {
    const std::vector<Metric> wanted = metrics_of(groups);
    std::string key;
    for (const CounterGroup group : groups) key += std::to_string(static_cast<int>(group));
    std::vector<KernelValues> kernels;
    try {
        const ProfilePlan& plan = plan_of(key, wanted);
        for (auto& row : rows(run, plan)) kernels.push_back({plan.metrics, std::move(row)});
        if (kernels.empty()) {
            return Unavailable{.reason = "the profiler saw no kernel of this operation"};
        }
        const bool tensor =
            std::find(groups.begin(), groups.end(), CounterGroup::tensor) != groups.end();
        if (tensor && needs_tensor_types(kernels)) {
            const ProfilePlan& types = plan_of("types", tensor_types());
            if (types.passes > 0) {
                for (auto& row : rows(run, types)) {
                    kernels.push_back({types.metrics, std::move(row)});
                }
            }
        }
    } catch (const Busy& busy) {
        return busy.reason;
    }
    return combine(kernels);
}

}  // namespace ridge::measure::cuda
