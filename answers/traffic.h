// What a deployment does to its users: a load, or several, run through the engine's scheduler.
//
//   const TrafficAnswer answer = serve_traffic(find_model("llama-3.1-8b"), question, place);
//   answer.loads[0].summary.ttft.p99
//   answer.most_within               // the largest rate that meets the targets, of those asked for
//
// Method: the servers of a deployment get the requests in turn; each runs on its own
// (programs/traffic/simulation.h). If prompts and answers are on different GPUs, requests run through
// a server that computes prompts, then their cache is sent, then through one that only decodes.
// Limits: a router that looks at queues or prefixes would do better than turns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answers/plan.h"
#include "programs/traffic/requests.h"
#include "programs/traffic/summary.h"

namespace ridge::answers {

/// Servers that compute prompts and servers that decode, instead of `Deployment::replicas`.
struct Separate {
    std::int64_t prompts = 0;
    std::int64_t answers = 0;
    std::optional<Bandwidth> link{};  ///< between them; empty: that of the node's GPUs
};

struct TrafficQuestion {
    programs::Deployment deployment{};
    programs::Engine engine{};
    programs::TrafficLoad load{};                 ///< without rate and concurrency
    std::vector<double> rates{};                  ///< requests/s of all servers; one run for each
    std::vector<std::int64_t> concurrencies{};    ///< instead: requests at a time
    std::vector<programs::TrafficRequest> log{};  ///< instead: recorded requests
    programs::Targets targets{};
    std::optional<Separate> separate{};
    /// Told how many loads have run, and of how many. May be empty.
    std::function<void(std::size_t, std::size_t)> progress{};
};

struct ServedLoad {
    double rate = 0.0;
    std::int64_t concurrency = 0;
    programs::TrafficSummary summary{};
    std::vector<programs::TrafficRun> runs{};  ///< of each server that decodes
    Time step{};                               ///< a decode step at the mean batch and context
    Time step_gpu{};                           ///< its kernels
};

struct TrafficAnswer {
    std::string model{};
    std::string gpu{};
    TrafficQuestion question{};
    std::int64_t gpus = 0;
    std::int64_t weights_bytes = 0;                   ///< of a GPU
    std::int64_t cache_tokens = 0;                    ///< of a server
    std::int64_t host_tokens = 0;                     ///< of cache in the host's memory
    model::Grade evidence = model::Grade::datasheet;  ///< the weakest of a decode step
    std::vector<ServedLoad> loads{};
    std::optional<std::size_t> most_within{};  ///< load with the most goodput of which 90 % meet
};

/// InputError if the weights do not fit, if an operation has no predicted time, or for a load that nothing can answer.
[[nodiscard]] TrafficAnswer serve_traffic(const programs::Architecture& architecture,
                                          const TrafficQuestion& question, const Place& place);

/// Tokens per second: of a fixed number of requests at a time in the steady part, else of the whole.
[[nodiscard]] double token_rate(const ServedLoad& load);

/// One sentence.
[[nodiscard]] std::string verdict_of(const TrafficAnswer& answer);
/// What the numbers assume.
[[nodiscard]] std::vector<std::string> remarks_on(const TrafficAnswer& answer);

}  // namespace ridge::answers
