// A list of allocations with lifetimes, in the order in which a program makes them, and the memory
// that they need.
//
// A plan is a list of steps: each takes memory under a name or gives it back. Phases divide the
// plan into the parts that a caller asks about; a phase may begin with an emptied cache. `replay`
// runs the steps through the caching allocator and reports levels relative to the start of each
// phase, as torch.cuda.max_memory_allocated() minus the earlier torch.cuda.memory_allocated()
// would.
//
//   MemoryPlan plan;
//   plan.begin("forward", CacheBefore::emptied);
//   const auto scores = plan.allocate("scores", 1 << 30);
//   plan.release(scores);
//   replay(plan).phase("forward").peak.allocated;
//
// Limits: names must outlive the plan (they are literals).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/allocator/caching_allocator.h"

namespace ridge::model {

enum class CacheBefore : std::uint8_t { kept, emptied };

class MemoryPlan {
  public:
    using Id = std::size_t;
    static constexpr std::size_t never = static_cast<std::size_t>(-1);

    struct Allocation {
        std::string_view name;
        std::int64_t bytes = 0;
        std::size_t taken = 0;      ///< step
        std::size_t given = never;  ///< step; `never` if it outlives the plan
    };
    struct Step {
        Id allocation = 0;
        bool takes = true;
    };
    struct Phase {
        std::string_view name;
        std::size_t first = 0;  ///< step
        std::size_t last = 0;   ///< one past its last step
        CacheBefore cache = CacheBefore::kept;
    };

    void begin(std::string_view phase, CacheBefore cache = CacheBefore::kept);
    [[nodiscard]] Id allocate(std::string_view name, std::int64_t bytes);
    void release(Id id);
    /// Takes memory and gives it back at once.
    void touch(std::string_view name, std::int64_t bytes) { release(allocate(name, bytes)); }

    [[nodiscard]] const std::vector<Allocation>& allocations() const { return allocations_; }
    [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
    [[nodiscard]] const std::vector<Phase>& phases() const { return phases_; }

  private:
    std::vector<Allocation> allocations_;
    std::vector<Step> steps_;
    std::vector<Phase> phases_;
};

/// Levels relative to the start of the phase, except `reserved`, which is everything that the plan
/// holds.
struct PhaseMemory {
    std::string_view name;
    MemoryLevel peak;
    MemoryLevel after;
    std::int64_t start_allocated = 0;  ///< in use when the phase begins
    std::size_t peak_step = 0;         ///< step that reaches the allocated peak
};

struct MemoryTimeline {
    std::vector<MemoryLevel> levels;   ///< after each step, absolute
    std::vector<std::int64_t> blocks;  ///< bytes of the block that each allocation got
    std::vector<PhaseMemory> phases;
    bool fits = true;  ///< whether the allocator's limit was enough

    /// The phase of that name, which must exist.
    [[nodiscard]] const PhaseMemory& phase(std::string_view name) const;
};

/// Runs the plan. `resident` allocations were made before it and stay (a library's workspaces).
/// Their own memory is left out of every figure, but the free space in their segments is used.
[[nodiscard]] MemoryTimeline replay(const MemoryPlan& plan, AllocatorOptions options = {},
                                    std::span<const std::int64_t> resident = {});

}  // namespace ridge::model
