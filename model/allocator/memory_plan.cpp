// Plans of allocations run through the caching allocator.
#include "model/allocator/memory_plan.h"

#include <algorithm>

#include "hardware/error.h"

namespace ridge::model {

void MemoryPlan::begin(std::string_view phase, CacheBefore cache) {
    phases_.push_back(
        {.name = phase, .first = steps_.size(), .last = steps_.size(), .cache = cache});
}

MemoryPlan::Id MemoryPlan::allocate(std::string_view name, std::int64_t bytes) {
    RIDGE_CONTRACT(!phases_.empty() && bytes >= 0);
    allocations_.push_back({.name = name, .bytes = bytes, .taken = steps_.size()});
    steps_.push_back({.allocation = allocations_.size() - 1, .takes = true});
    phases_.back().last = steps_.size();
    return allocations_.size() - 1;
}

void MemoryPlan::release(Id id) {
    RIDGE_CONTRACT(allocations_[id].given == never);
    allocations_[id].given = steps_.size();
    steps_.push_back({.allocation = id, .takes = false});
    phases_.back().last = steps_.size();
}

const PhaseMemory& MemoryTimeline::phase(std::string_view name) const {
    const auto found = std::find_if(phases.begin(), phases.end(),
                                    [&](const PhaseMemory& each) { return each.name == name; });
    RIDGE_CONTRACT(found != phases.end());
    return *found;
}

MemoryTimeline replay(const MemoryPlan& plan, AllocatorOptions options,
                      std::span<const std::int64_t> resident) {
    CachingAllocator memory(options);
    memory.expect(plan.allocations().size() + resident.size());
    for (const std::int64_t bytes : resident) (void)memory.allocate(bytes);
    const MemoryLevel base = memory.now();
    const auto above_base = [&base](const MemoryLevel& level) {
        return MemoryLevel{.requested = level.requested - base.requested,
                           .allocated = level.allocated - base.allocated,
                           .reserved = level.reserved - base.reserved};
    };
    MemoryTimeline timeline;
    timeline.levels.reserve(plan.steps().size());
    timeline.blocks.resize(plan.allocations().size());
    std::vector<CachingAllocator::Block> blocks(plan.allocations().size());
    for (const MemoryPlan::Phase& phase : plan.phases()) {
        if (phase.cache == CacheBefore::emptied) memory.empty_cache();
        memory.reset_peak();
        const MemoryLevel start = memory.now();
        PhaseMemory report;
        report.name = phase.name;
        report.start_allocated = start.allocated - base.allocated;
        report.peak_step = phase.first;
        std::int64_t highest = start.allocated;
        for (std::size_t i = phase.first; i < phase.last; ++i) {
            const MemoryPlan::Step& step = plan.steps()[i];
            if (step.takes) {
                blocks[step.allocation] =
                    memory.allocate(plan.allocations()[step.allocation].bytes);
                timeline.blocks[step.allocation] = memory.bytes_of(blocks[step.allocation]);
            } else {
                memory.release(blocks[step.allocation]);
            }
            timeline.levels.push_back(above_base(memory.now()));
            if (memory.now().allocated > highest) {
                highest = memory.now().allocated;
                report.peak_step = i;
            }
        }
        const auto relative = [&](const MemoryLevel& level) {
            return MemoryLevel{.requested = level.requested - start.requested,
                               .allocated = level.allocated - start.allocated,
                               .reserved = level.reserved - base.reserved};
        };
        report.peak = relative(memory.peak());
        report.after = relative(memory.now());
        timeline.phases.push_back(report);
    }
    timeline.fits = !memory.exhausted();
    return timeline;
}

}  // namespace ridge::model
