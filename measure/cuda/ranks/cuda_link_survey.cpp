// The survey of links on CUDA devices; see measure/ranks/link_survey.h.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include "measure/cuda/kernels/latency.h"
#include "measure/cuda/libraries/device_description.h"
#include "measure/cuda/memory/handles.h"
#include "measure/ranks/link_survey.h"
#include "measure/ranks/topology.h"
#include "measure/statistics/quantile.h"

namespace ridge::measure {
namespace cuda {
namespace {

constexpr std::size_t copied_bytes = std::size_t{256} << 20;
constexpr int repetitions = 7;
constexpr int in_a_row = 3;  ///< copies of one sample, so that late starts count little
constexpr std::int64_t chase_slots = 8192;
constexpr int chase_stride = 128;

/// Page-locked host memory.
class PinnedMemory {
  public:
    explicit PinnedMemory(std::size_t bytes) {
        require(cudaHostAlloc(&data_, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    }
    ~PinnedMemory() { cudaFreeHost(data_); }
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;
    [[nodiscard]] void* data() const { return data_; }

  private:
    void* data_ = nullptr;
};

/// What one GPU needs; made while it is current.
struct Station {
    Buffer first{copied_bytes};
    Buffer second{copied_bytes};
    PinnedMemory host_first{copied_bytes};
    PinnedMemory host_second{copied_bytes};
    Stream forth;
    Stream back;
    Event forth_start;
    Event forth_stop;
    Event back_start;
    Event back_stop;
};

void use(std::size_t device) {
    require(cudaSetDevice(static_cast<int>(device)), "cudaSetDevice");
}

/// A copy queued on a stream, with the events around it.
struct Queued {
    std::size_t device;
    const Stream* stream;
    const Event* start;
    const Event* stop;
    std::function<void(cudaStream_t)> copy;
};

/// Median seconds of each copy when all of them run at once.
std::vector<double> at_once(const std::vector<Queued>& copies) {
    std::vector<std::vector<double>> seconds(copies.size());
    for (int i = 0; i <= repetitions; ++i) {
        for (const Queued& one : copies) {
            use(one.device);
            one.start->record(*one.stream);
            for (int k = 0; k < in_a_row; ++k) one.copy(one.stream->handle());
            one.stop->record(*one.stream);
        }
        for (std::size_t k = 0; k < copies.size(); ++k) {
            use(copies[k].device);
            copies[k].stream->synchronize();
            const double taken = copies[k].stop->seconds_since(*copies[k].start) / in_a_row;
            if (i > 0) seconds[k].push_back(taken);  // the first one warms up
        }
    }
    std::vector<double> medians;
    for (std::vector<double>& each : seconds) medians.push_back(median_of(std::move(each)));
    return medians;
}

Bandwidth rate_of(double seconds) {
    return Bandwidth::from_base(static_cast<double>(copied_bytes) / seconds);
}

Queued peer_copy(const std::vector<std::unique_ptr<Station>>& all, std::size_t from,
                 std::size_t to) {
    const Station& sender = *all[from];
    void* const source = sender.first.as();
    void* const target = all[to]->second.as();
    return {from, &sender.forth, &sender.forth_start, &sender.forth_stop, [=](cudaStream_t stream) {
                require(cudaMemcpyPeerAsync(target, static_cast<int>(to), source,
                                            static_cast<int>(from), copied_bytes, stream),
                        "cudaMemcpyPeerAsync");
            }};
}

Queued host_copy(const Station& station, std::size_t device, bool to_device) {
    void* const target = to_device ? station.first.as() : station.host_second.data();
    const void* const source = to_device ? station.host_first.data() : station.second.as();
    const cudaMemcpyKind kind = to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    return {device, to_device ? &station.forth : &station.back,
            to_device ? &station.forth_start : &station.back_start,
            to_device ? &station.forth_stop : &station.back_stop, [=](cudaStream_t stream) {
                require(cudaMemcpyAsync(target, source, copied_bytes, kind, stream),
                        "cudaMemcpyAsync");
            }};
}

double pageable_seconds(const Station& station, bool to_device) {
    std::vector<char> memory(copied_bytes, 1);
    std::vector<double> seconds;
    for (int i = 0; i < 4; ++i) {
        const auto begun = std::chrono::steady_clock::now();
        require(to_device ? cudaMemcpy(station.first.as(), memory.data(), copied_bytes,
                                       cudaMemcpyHostToDevice)
                          : cudaMemcpy(memory.data(), station.first.as(), copied_bytes,
                                       cudaMemcpyDeviceToHost),
                "cudaMemcpy");
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
        if (i > 0) seconds.push_back(taken.count());
    }
    return median_of(std::move(seconds));
}

Time load_time(std::size_t reader, std::uint64_t* chain, Station& station) {
    use(reader);
    const Buffer span(sizeof(ClockSpan));
    const Buffer last(sizeof(std::uint64_t));
    constexpr std::int64_t steps = 4000;
    const Launch chase = launch_of(Chase{.chain = chain,
                                         .span = span.as<ClockSpan>(),
                                         .last_slot = last.as<std::uint64_t>(),
                                         .slots = chase_slots,
                                         .stride_bytes = chase_stride,
                                         .warm_steps = chase_slots,
                                         .steps = steps,
                                         .level = ChaseLevel::l2});
    std::vector<double> seconds;
    for (int i = 0; i < 3; ++i) {
        chase(station.forth.handle());
        station.forth.synchronize();
        ClockSpan seen{};
        require(cudaMemcpy(&seen, span.as(), sizeof(seen), cudaMemcpyDeviceToHost), "cudaMemcpy");
        seconds.push_back(static_cast<double>(seen.last_nanosecond - seen.first_nanosecond) * 1e-9 /
                          static_cast<double>(steps));
    }
    return Time::from_base(median_of(std::move(seconds)));
}

HostLink host_link(const Station& station, std::size_t device) {
    HostLink link{.to_device = rate_of(at_once({host_copy(station, device, true)}).front()),
                  .to_host = rate_of(at_once({host_copy(station, device, false)}).front())};
    const std::vector<double> both =
        at_once({host_copy(station, device, true), host_copy(station, device, false)});
    link.both_ways = rate_of(both[0]) + rate_of(both[1]);
    use(device);
    link.pageable_to_device = rate_of(pageable_seconds(station, true));
    link.pageable_to_host = rate_of(pageable_seconds(station, false));
    return link;
}

LinkSurvey surveyed(const std::vector<GpuPlace>& places) {
    const std::size_t count = places.size();
    LinkSurvey survey{.gpus = {},
                      .serials = {},
                      .host_name = {},
                      .one_way = PairTable<Bandwidth>(count, {count, std::nullopt}),
                      .both_ways = PairTable<Bandwidth>(count, {count, std::nullopt}),
                      .load = PairTable<Time>(count, {count, std::nullopt}),
                      .host = {}};
    std::vector<std::unique_ptr<Station>> stations;
    for (std::size_t i = 0; i < count; ++i) {
        use(i);
        survey.gpus.push_back(places[i].name);
        const DeviceInfo info = describe_device(static_cast<int>(i));
        survey.serials.push_back(info.serial);
        survey.host_name = info.host;
        stations.push_back(std::make_unique<Station>());
        for (const std::int32_t peer : places[i].reaches) {
            if (cudaDeviceEnablePeerAccess(peer, 0) != cudaSuccess) cudaGetLastError();
        }
    }
    for (std::size_t owner = 0; owner < count; ++owner) {
        use(owner);
        const Buffer chain(static_cast<std::size_t>(chase_slots) * chase_stride);
        launch_of(ChaseBuild{.chain = chain.as<std::uint64_t>(),
                             .slots = chase_slots,
                             .stride_bytes = chase_stride})(stations[owner]->forth.handle());
        stations[owner]->forth.synchronize();
        survey.load[owner][owner] = load_time(owner, chain.as<std::uint64_t>(), *stations[owner]);
        for (const std::int32_t peer : places[owner].reaches) {
            const auto other = static_cast<std::size_t>(peer);
            survey.load[other][owner] =
                load_time(other, chain.as<std::uint64_t>(), *stations[other]);
            survey.one_way[owner][other] =
                rate_of(at_once({peer_copy(stations, owner, other)}).front());
            const std::vector<double> both =
                at_once({peer_copy(stations, owner, other), peer_copy(stations, other, owner)});
            survey.both_ways[owner][other] = rate_of(both[0]) + rate_of(both[1]);
        }
    }
    for (std::size_t i = 0; i < count; ++i) survey.host.push_back(host_link(*stations[i], i));
    for (const bool to_device : {true, false}) {
        std::vector<Queued> copies;
        for (std::size_t i = 0; i < count; ++i) {
            copies.push_back(host_copy(*stations[i], i, to_device));
        }
        const std::vector<double> seconds = at_once(copies);
        for (std::size_t i = 0; i < count; ++i) {
            HostLink& link = survey.host[i];
            (to_device ? link.together_to_device : link.together_to_host) = rate_of(seconds[i]);
        }
    }
    return survey;
}

}  // namespace
}  // namespace cuda

Maybe<LinkSurvey> survey_links() {
    if (auto missing = cuda::missing_device(0)) return *std::move(missing);
    return cuda::surveyed(topology());
}

}  // namespace ridge::measure
