// The kernels of the common start; see start_line.h.
#include <algorithm>
#include <cstring>

#include "hardware/error.h"
#include "measure/cuda/ranks/start_line.h"

namespace ridge::measure::cuda {
namespace {

constexpr std::int64_t rounds = 6;
constexpr std::int64_t ahead_ns = 4'000;  // longer than the way of the last message
constexpr std::int64_t limit_ns = 5'000'000'000;
constexpr std::size_t shared_block = std::size_t{2}
                                     << 20;  // its own, so that a handle shows no other

__device__ __forceinline__ std::int64_t timer() {
    std::int64_t value;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
    return value;
}

__device__ __forceinline__ void write_flag(std::int64_t* flag, std::int64_t value) {
    asm volatile("st.release.sys.global.s64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

__device__ __forceinline__ std::int64_t read_flag(const std::int64_t* flag) {
    std::int64_t value;
    asm volatile("ld.acquire.sys.global.s64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
    return value;
}

/// The first value of the flag that is at least `least`; 0 after the limit.
__device__ std::int64_t await(const std::int64_t* flag, std::int64_t least) {
    const std::int64_t begun = timer();
    while (true) {
        const std::int64_t value = read_flag(flag);
        if (value >= least) return value;
        if (timer() - begun > limit_ns) return 0;
    }
}

/// Rank 0: one thread for each other rank.
__global__ void start_line_first(StartLine::Peers peers, int ranks, std::int64_t queued,
                                 int sample) {
    __shared__ std::int64_t chosen;
    StartLine::Flags& own = *peers.of[0];
    const int rank = static_cast<int>(threadIdx.x);
    std::int64_t difference = 0;
    if (rank > 0 && rank < ranks) {
        std::int64_t shortest = limit_ns;
        for (std::int64_t round = 1; round <= rounds; ++round) {
            write_flag(&own.answers[rank], 0);
            const std::int64_t asked = timer();
            write_flag(&peers.of[rank]->ask, queued * rounds + round);
            const std::int64_t answer = await(&own.answers[rank], 1);
            const std::int64_t way = timer() - asked;
            if (answer == 0) {
                own.gave_up = 1;
                break;
            }
            if (way < shortest) {
                shortest = way;
                difference = answer - (asked + way / 2);
            }
        }
    }
    __syncthreads();
    if (rank == 0) chosen = timer() + ahead_ns;
    __syncthreads();
    if (rank > 0 && rank < ranks) write_flag(&peers.of[rank]->go, chosen + difference);
    if (rank == 0) {
        while (timer() < chosen) {
        }
        own.left[sample] = timer() - chosen;
    }
}

/// The other ranks: one thread.
__global__ void start_line_other(StartLine::Peers peers, int rank, std::int64_t queued,
                                 int sample) {
    StartLine::Flags& own = *peers.of[rank];
    const std::int64_t entered = timer();
    for (std::int64_t round = 1; round <= rounds; ++round) {
        if (await(&own.ask, queued * rounds + round) == 0) {
            own.gave_up = 1;
            return;
        }
        write_flag(&peers.of[0]->answers[rank], timer());
    }
    // Times chosen for earlier samples had passed when this kernel began.
    const std::int64_t chosen = await(&own.go, entered);
    if (chosen == 0) {
        own.gave_up = 1;
        return;
    }
    while (timer() < chosen) {
    }
    own.left[sample] = timer() - chosen;
}

}  // namespace

StartLine::StartLine(std::int32_t rank, std::int32_t ranks)
    : rank_(rank), ranks_(ranks), memory_(std::max(shared_block, sizeof(Flags))) {
    if (ranks > most_ranks) {
        throw Refusal("a common start of more than " + std::to_string(most_ranks) + " GPUs");
    }
    require(cudaMemset(memory_.as(), 0, memory_.bytes()), "cudaMemset");
    require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

StartLine::~StartLine() {
    for (void* peer : opened_) cudaIpcCloseMemHandle(peer);
}

std::string StartLine::address() const {
    cudaIpcMemHandle_t handle{};
    require(cudaIpcGetMemHandle(&handle, memory_.as()), "cudaIpcGetMemHandle");
    return {handle.reserved, sizeof(handle.reserved)};
}

void StartLine::link(const std::vector<std::string>& addresses) {
    for (std::int32_t rank = 0; rank < ranks_; ++rank) {
        if (rank == rank_) {
            peers_.of[rank] = memory_.as<Flags>();
            continue;
        }
        if (rank_ != 0 && rank != 0) continue;
        cudaIpcMemHandle_t handle{};
        const std::string& address = addresses.at(static_cast<std::size_t>(rank));
        std::memcpy(handle.reserved, address.data(),
                    std::min(address.size(), sizeof(handle.reserved)));
        void* peer = nullptr;
        require(cudaIpcOpenMemHandle(&peer, handle, cudaIpcMemLazyEnablePeerAccess),
                "cudaIpcOpenMemHandle");
        opened_.push_back(peer);
        peers_.of[rank] = static_cast<Flags*>(peer);
    }
}

void StartLine::queue(const Stream& stream, std::int32_t sample) {
    RIDGE_CONTRACT(sample >= 0 && sample < most_samples);
    if (rank_ == 0) {
        start_line_first<<<1, most_ranks, 0, stream.handle()>>>(peers_, ranks_, queued_, sample);
    } else {
        start_line_other<<<1, 1, 0, stream.handle()>>>(peers_, rank_, queued_, sample);
    }
    require(cudaGetLastError(), "start line");
    ++queued_;
}

std::vector<double> StartLine::left(std::int32_t samples) const {
    Flags flags{};
    require(cudaMemcpy(&flags, memory_.as(), sizeof(flags), cudaMemcpyDeviceToHost),
            "cudaMemcpy of the start line");
    if (flags.gave_up != 0) throw DeviceError("another GPU did not come to the common start");
    constexpr double nanosecond = 1e-9;
    std::vector<double> seconds;
    for (std::int32_t i = 0; i < samples; ++i) {
        seconds.push_back(static_cast<double>(flags.left[i]) * nanosecond);
    }
    return seconds;
}

bool StartLine::is_start(const std::string& kernel) {
    return kernel.find("start_line_") != std::string::npos;
}

}  // namespace ridge::measure::cuda
