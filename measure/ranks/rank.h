// One of the processes that run a collective, one for each GPU, as the process itself sees it.
//
// `ridge measure` starts a process for each GPU, as users run collectives. Each of them serves one
// `Rank` (serve.h): it opens its GPU, joins the others through the library, prepares an operation,
// checks its own result and takes samples. All ranks take every step together; the process that
// started them (rank_group.h) says when.
//
//   Maybe<std::unique_ptr<Rank>> opened = open_rank({.rank = 0, .ranks = 2, .device = 0});
//   Rank& rank = *std::get<std::unique_ptr<Rank>>(opened);
//   rank.join(rank.new_id());
//   rank.link({rank.address(), ...});          // of all ranks, in order
//   rank.prepare(op, LaunchMode::kernel, DataPattern::normal);
//   if (rank.verify().verification.ok) samples = rank.sample({.count = 20});
//
// A sample of a kernel starts on all GPUs at one time: a kernel ahead of it waits until its GPU's
// own timer reaches a time that rank 0 chose, after rank 0 has compared the timers. The start that a
// rank reports is on rank 0's timer, so that what is left of the skew is known (combine.h).
//
// Errors: as for `Device`. What a rank cannot do is an Unavailable; a failing call throws
// DeviceError.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/record/device_info.h"
#include "measure/record/observation.h"
#include "model/core/operation.h"

namespace ridge::measure {

struct RankPlace {
    std::int32_t rank = 0;
    std::int32_t ranks = 1;
    std::int32_t device = 0;
};

struct RankVerdict {
    Verification verification{};
    std::optional<CollectiveChoice> choice{};  ///< as the library reports it; of rank 0 only
};

struct RankSampleRequest {
    model::LaunchMode launch = model::LaunchMode::kernel;
    std::int32_t count = 10;
    /// Runs of the operation in one sample: nodes of the graph, or calls in a row in a stream. One
    /// for a kernel.
    std::int32_t repetitions = 1;
};

/// One sample as one GPU saw it.
struct RankSample {
    Time start{};     ///< on the timer of rank 0, from an origin that all ranks of a sample share
    Time duration{};  ///< of all repetitions
    std::optional<Frequency> clock{};
    bool throttled = false;

    friend bool operator==(const RankSample&, const RankSample&) = default;
};

class Rank {
  public:
    Rank() = default;
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;
    virtual ~Rank() = default;

    [[nodiscard]] virtual const DeviceInfo& info() const = 0;
    [[nodiscard]] virtual Environment environment() = 0;

    /// What the ranks find each other by; made by rank 0. Any bytes.
    [[nodiscard]] virtual std::string new_id() = 0;
    /// Returns when all ranks have joined.
    virtual void join(const std::string& id) = 0;
    /// Where the other ranks find this rank's flags. Any bytes.
    [[nodiscard]] virtual std::string address() = 0;
    virtual void link(const std::vector<std::string>& addresses) = 0;

    [[nodiscard]] virtual Maybe<Geometry> prepare(const model::Collective& operation,
                                                  model::LaunchMode launch,
                                                  DataPattern pattern) = 0;
    [[nodiscard]] virtual RankVerdict verify() = 0;
    [[nodiscard]] virtual std::vector<RankSample> sample(const RankSampleRequest& request) = 0;
};

/// This process's rank on a CUDA device. Unavailable without the library, a device, and in a build
/// without CUDA.
[[nodiscard]] Maybe<std::unique_ptr<Rank>> open_rank(const RankPlace& place);

/// Number of CUDA devices that this process sees; 0 without a driver.
[[nodiscard]] std::int32_t device_count();

}  // namespace ridge::measure
