// The gate, the stamps and the timer's tick; see clock_kernels.h.
#include <algorithm>
#include <vector>

#include "measure/cuda/clocks/clock_kernels.h"

namespace ridge::measure::cuda {
namespace {

constexpr std::int64_t gate_limit_ns = 2'000'000'000;
constexpr int blocks_per_multiprocessor = 2;  // so that every multiprocessor gets a block
constexpr std::int64_t shortest_span_ns = 8'000;

struct Stamp {
    std::int64_t cycle = 0;
    std::int64_t nanosecond = 0;
};

__device__ __forceinline__ std::int64_t global_nanosecond() {
    std::int64_t value;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
    return value;
}

__global__ void gate_kernel(volatile std::int32_t* words, std::int32_t ticket) {
    const std::int64_t start = global_nanosecond();
    while (words[0] < ticket) {
        if (global_nanosecond() - start > gate_limit_ns) {
            words[1] = 1;
            return;
        }
    }
}

__global__ void stamp_kernel(Stamp* stamps) {
    unsigned multiprocessor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    stamps[multiprocessor] = {.cycle = clock64(), .nanosecond = global_nanosecond()};
}

}  // namespace

Gate::Gate() {
    void* words = nullptr;
    require(cudaHostAlloc(&words, 2 * sizeof(std::int32_t), cudaHostAllocMapped), "cudaHostAlloc");
    words_ = static_cast<volatile std::int32_t*>(words);
    words_[0] = 0;
    words_[1] = 0;
    void* device = nullptr;
    require(cudaHostGetDevicePointer(&device, words, 0), "cudaHostGetDevicePointer");
    device_words_ = static_cast<std::int32_t*>(device);
}

Gate::~Gate() {
    cudaFreeHost(const_cast<std::int32_t*>(words_));
}

std::int32_t Gate::close(const Stream& stream) {
    const std::int32_t ticket = ++tickets_;
    gate_kernel<<<1, 1, 0, stream.handle()>>>(device_words_, ticket);
    require(cudaGetLastError(), "gate kernel");
    return ticket;
}

void Gate::open(std::int32_t ticket) {
    words_[0] = ticket;
}

bool Gate::timed_out() {
    const bool gave_up = words_[1] != 0;
    words_[1] = 0;
    return gave_up;
}

StampPair::StampPair(int multiprocessors)
    : multiprocessors_(multiprocessors),
      stamps_(static_cast<std::size_t>(multiprocessors) * 2 * sizeof(Stamp)) {
    require(cudaMemset(stamps_.as(), 0, stamps_.bytes()), "cudaMemset");
}

void StampPair::write(const Stream& stream, int which) const {
    stamp_kernel<<<multiprocessors_ * blocks_per_multiprocessor, 32, 0, stream.handle()>>>(
        stamps_.as<Stamp>() + which * multiprocessors_);
    require(cudaGetLastError(), "stamp kernel");
}

std::optional<Frequency> StampPair::clock() const {
    const auto count = static_cast<std::size_t>(multiprocessors_);
    std::vector<Stamp> stamps(2 * count);
    require(cudaMemcpy(stamps.data(), stamps_.as(), stamps_.bytes(), cudaMemcpyDeviceToHost),
            "cudaMemcpy of stamps");
    double cycles = 0.0;
    double nanoseconds = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
        const Stamp& before = stamps[i];
        const Stamp& after = stamps[count + i];
        const std::int64_t span = after.nanosecond - before.nanosecond;
        if (before.nanosecond == 0 || after.nanosecond == 0 || span < shortest_span_ns) continue;
        cycles += static_cast<double>(after.cycle - before.cycle);
        nanoseconds += static_cast<double>(span);
    }
    if (nanoseconds <= 0.0) return std::nullopt;
    return Frequency::from_base(cycles / nanoseconds * 1e9);
}

}  // namespace ridge::measure::cuda
