// The questions of the suite `collectives`; see suite.h.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "measure/run/random_sizes.h"
#include "measure/run/suite.h"

namespace ridge::measure {
namespace {

// Every size from a few bytes, where only latency counts, to those that the links limit. NCCL changes
// its protocol between 64 KiB and 16 MiB, so sizes are closer there.
constexpr std::array<std::string_view, 6> collective_rows{
    "{all_reduce,all_gather,reduce_scatter,all_to_all,broadcast,send} dtype=bf16 "
    "bytes={1024,8192,65536,262144,1048576,4194304,16777216,67108864,268435456} "
    "launch={kernel,graph}",
    "all_reduce dtype=bf16 bytes={256,4096,16384,32768,131072,524288,2097152,8388608,33554432} "
    "launch=kernel",
    "{all_gather,reduce_scatter} dtype=bf16 bytes={32768,524288,2097152,8388608,33554432} "
    "launch=kernel",
    "{all_reduce,all_gather,reduce_scatter} dtype=bf16 bytes=1073741824 launch=kernel",
    "all_reduce dtype={fp32,fp16} bytes={4096,1048576,67108864} launch=kernel",
    "{all_reduce,all_gather,reduce_scatter,all_to_all,send} dtype=bf16 "
    "bytes={4096,262144,4194304,67108864} launch=stream",
};

constexpr std::array<std::string_view, 6> collective_words{
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send"};
constexpr std::array<std::string_view, 4> launch_words{"kernel", "kernel", "graph", "stream"};
constexpr std::array<std::string_view, 3> type_words{"bf16", "fp32", "fp16"};

constexpr std::int64_t least_message = 256;
constexpr std::int64_t largest_message = std::int64_t{1} << 30;

/// A message whose parts are whole elements, of any type, for every GPU.
std::int64_t divided(std::int64_t bytes, std::int64_t gpus) {
    constexpr std::int64_t element = 16;
    const std::int64_t grain = element * gpus;
    return std::max<std::int64_t>(1, bytes / grain) * grain;
}

}  // namespace

std::vector<Question> collective_suite(std::int64_t gpus) {
    std::vector<Question> questions;
    for (const std::string_view row : collective_rows) {
        for (const std::string& text : expand(row)) {
            questions.push_back(parse_question(fmt::format("{} gpus={}", text, gpus)));
        }
    }
    return questions;
}

std::vector<Question> random_collectives(std::uint64_t seed, std::int64_t count,
                                         std::int64_t gpus) {
    Random random(seed);
    std::vector<Question> questions;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::string_view kind = random.pick(collective_words);
        const std::string_view launch = random.pick(launch_words);
        const std::string_view type = random.pick(type_words);
        const std::int64_t bytes = divided(random.size(least_message, largest_message), gpus);
        questions.push_back(parse_question(fmt::format("{} dtype={} bytes={} gpus={} launch={}",
                                                       kind, type, bytes, gpus, launch)));
        questions.back().seed = seed;
    }
    return questions;
}

}  // namespace ridge::measure
