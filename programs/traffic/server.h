// One server of a simulation (simulation.h): its queue, its batch, its pages, its clock.
//
//   Server(requests, options, times).run()
//
// server.cpp runs steps, server_pages.cpp admits sequences and takes their places away.
#pragma once

#include <queue>
#include <tuple>
#include <vector>

#include "hardware/si.h"
#include "hardware/units.h"
#include "programs/traffic/adapter_places.h"
#include "programs/traffic/host_cache.h"
#include "programs/traffic/page_cache.h"
#include "programs/traffic/simulation.h"
#include "programs/traffic/timeline.h"

namespace ridge::programs {

/// A request that was admitted, or waits to be again.
struct Sequence {
    std::size_t index = 0;
    std::int64_t computed = 0;  ///< tokens in the cache
    std::int64_t given = 0;     ///< tokens of the answer
    std::int64_t reached = 0;   ///< most tokens that were ever in the cache
    std::int64_t pages = 0;     ///< of its own
    std::int64_t shared = 0;    ///< of its group's prefix
    std::int64_t group = -1;    ///< that it holds
    std::int64_t last_token_ns = 0;
    std::int64_t chunk = 0;       ///< tokens in this step
    std::int64_t kept_after = 0;  ///< pages of the prefix before those left at a preemption
    std::int64_t ready_ns = 0;    ///< when its pages have come from the host
    bool encoded = false;         ///< its images
    bool gone = false;            ///< preempted or finished in this step
};

struct Waiting {
    std::int64_t priority = 0;
    std::int64_t arrival_ns = 0;
    Sequence sequence{};
    friend bool operator<(const Waiting& a, const Waiting& b) {  // the largest comes first
        return std::tie(a.priority, a.arrival_ns, a.sequence.index) >
               std::tie(b.priority, b.arrival_ns, b.sequence.index);
    }
};

class Server {
  public:
    Server(const std::vector<TrafficRequest>& requests, const TrafficOptions& options,
           StepTimes& times)
        : requests_(requests),
          options_(options),
          times_(times),
          deployment_(times.parts().deployment()),
          cache_(options.tokens / deployment_.block, deployment_.block, deployment_.prefix_cache),
          host_(deployment_.prefix_cache ? options.host_tokens / deployment_.block : 0),
          adapters_(deployment_.adapters.slots),
          random_(options.seed) {
        run_.requests.resize(requests.size());
        run_.pages = cache_.pages();
        if (options.host_tokens > 0)
            fetch_ns_ = times.parts().fetch_token().in(units::s) / si::nanosecond;
    }

    TrafficRun run();

  private:
    void arrive();
    void arrive(std::size_t index, std::int64_t at);
    [[nodiscard]] bool schedule(Sequence& sequence);
    [[nodiscard]] bool make_room(const Sequence& sequence, std::int64_t pages);
    void schedule_running();
    [[nodiscard]] bool may_encode(const Sequence& sequence) const;
    void encode(Sequence& sequence);
    [[nodiscard]] bool any_scheduled() const;
    void wait();
    void admit();
    struct Found {
        std::int64_t prefix = 0;
        std::int64_t own = 0;
        std::int64_t fetched = 0;  ///< that follow, on the host
        [[nodiscard]] std::int64_t on_gpu() const { return prefix + own; }
    };
    [[nodiscard]] Found find(const Sequence& sequence);
    void begin(Sequence& sequence, const Found& found);
    [[nodiscard]] bool admit_next();
    void take_back(Sequence& sequence, std::int64_t wanted_pages);
    /// Of the pages that the sequence leaves in the cache, beside the groups of the requests.
    [[nodiscard]] static std::int64_t key_of(const Sequence& s) {
        constexpr std::int64_t beyond_groups = std::int64_t{1} << 62;
        return beyond_groups + static_cast<std::int64_t>(s.index);
    }
    void preempt(Sequence& sequence);
    void compact();
    [[nodiscard]] std::int64_t wall_ns();
    void apply(std::int64_t from);
    void advance(Sequence& sequence, std::int64_t from);
    void give(Sequence& sequence, std::int64_t tokens, std::int64_t from);
    void finish(Sequence& sequence);
    void release(Sequence& sequence);
    [[nodiscard]] std::int64_t needed(const Sequence& s) const {
        return requests_[s.index].prompt + s.given - s.computed;
    }
    [[nodiscard]] std::int64_t wanted(const Sequence& s) const {
        return decodes(s) ? 1 + drafted_ : needed(s);
    }
    [[nodiscard]] std::int64_t budget() const { return deployment_.chunk * deployment_.pipeline; }
    [[nodiscard]] bool decodes(const Sequence& s) const { return s.given > 0 && needed(s) == 1; }

    const std::vector<TrafficRequest>& requests_;
    TrafficOptions options_;
    StepTimes& times_;
    const Deployment& deployment_;
    PageCache cache_;
    HostCache host_;
    AdapterPlaces adapters_;
    std::int64_t drafted_ = deployment_.speculation.tokens();
    double fetch_ns_ = 0.0;     ///< of a token, from the host
    std::int64_t link_ns_ = 0;  ///< when the link to the host is free
    Random random_;
    TrafficRun run_;
    TrafficTimeline timeline_;
    std::vector<Sequence> running_;
    std::priority_queue<Waiting> waiting_;
    StepBatch batch_;
    std::int64_t now_ = 0;
    std::int64_t budget_ = 0;
    std::int64_t image_budget_ = 0;  ///< tokens of images that this step may still encode
    std::int64_t given_ = 0;         ///< tokens in this step
    std::size_t next_ = 0;           ///< request that has not arrived
    std::size_t done_ = 0;
    bool preempted_ = false;
};

}  // namespace ridge::programs
