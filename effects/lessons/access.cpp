// How threads access memory, and what branches cost.
#include <fmt/format.h>

#include <numeric>

#include "effects/lessons/lessons.h"
#include "hardware/si.h"
#include "model/access/divergence.h"
#include "model/access/work.h"

namespace ridge::effects {
namespace {

constexpr double words = 33554432.0;        // of 4 bytes each
constexpr double many_words = 134217728.0;  // 512 MiB, far larger than any L2
using si::giga;
using si::mega;
using si::microsecond;

std::string strided(std::int64_t stride) {
    return fmt::format("access pattern=strided dtype=fp32 elements=33554432 stride={} l2=cold",
                       stride);
}

std::string misaligned(std::int64_t offset) {
    return fmt::format("access pattern=misaligned dtype=fp32 elements=134217728 offset={} l2=cold",
                       offset);
}

/// Sectors that one warp requests, as the model counts them.
Series sectors(const std::vector<double>& strides) {
    Series series{.id = "sectors", .name = "sectors per warp"};
    for (const double stride : strides) {
        const model::Access access{.pattern = model::AccessPattern::strided,
                                   .elements = 1 << 25,
                                   .degree = static_cast<std::int64_t>(stride)};
        series.points.push_back({.x = stride, .value = model::access_work(access, {}).sectors});
    }
    return series;
}

}  // namespace

Plan coalescing_plan(const Subject& subject) {
    const std::vector<double> strides = with(doubling(1, 128), subject.at(knob::stride));
    const auto useful = [](std::int64_t) { return words * 4.0; };
    Plan plan;
    plan.figures.push_back(
        {.title = "Useful bandwidth against stride",
         .x = {.title = "Stride", .unit = "words", .scale = plot::Scale::log},
         .y = {.title = "Useful bandwidth", .unit = "GB/s", .scale = plot::Scale::log},
         .quantity = Quantity::bandwidth,
         .unit = giga,
         .series = {sweep("useful", "useful", strides, strided, useful)}});
    Series l2 = sweep("l2", "L2 to the SMs", strides, strided);
    l2.quantity = Quantity::l2_traffic;
    Series dram = sweep("dram", "DRAM", strides, strided);
    plan.figures.push_back({.title = "Bytes moved for 134 MB of useful data",
                            .x = {.title = "Stride", .unit = "words", .scale = plot::Scale::log},
                            .y = {.title = "Moved", .unit = "MB", .scale = plot::Scale::log},
                            .quantity = Quantity::traffic,
                            .unit = mega,
                            .series = {std::move(dram), std::move(l2)}});
    plan.figures.push_back({.title = "Sectors of 32 bytes that one warp requests",
                            .x = {.title = "Stride", .unit = "words", .scale = plot::Scale::log},
                            .y = {.title = "Sectors", .unit = ""},
                            .quantity = Quantity::number,
                            .series = {sectors(strides)}});
    plan.figures.push_back(
        {.title = "Reading from a misaligned start",
         .x = {.title = "Offset", .unit = "words"},
         .y = {.title = "Useful bandwidth", .unit = "GB/s"},
         .quantity = Quantity::bandwidth,
         .unit = giga,
         .series = {sweep("shifted", "misaligned", {0, 1, 2, 4, 8, 16, 24, 31}, misaligned,
                          [](std::int64_t) { return many_words * 4.0; })}});
    plan.figures.push_back(
        {.title = "Rows against columns: a transpose, 8192 x 8192 fp32",
         .x = {.title = "Kernel", .names = {"naive", "tiled"}},
         .y = {.title = "Time", .unit = "us"},
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {named("transpose", "transpose",
                          {{"naive", "transpose rows=8192 cols=8192 dtype=fp32 impl=naive"},
                           {"tiled", "transpose rows=8192 cols=8192 dtype=fp32 impl=tiled"}})}});
    plan.formula = "sectors per warp = min(32, stride x bytes per word), 32 bytes each";
    plan.ratio = {.what = "Useful bandwidth, stride 1 over stride $stride",
                  .above = "useful@1",
                  .below = "useful@$stride",
                  .why =
                      "[useful@$stride/useful@16:measured < 0.9] A wide stride costs "
                      "DRAM rows and pages, for which the model has one rate."};
    plan.text =
        R"([useful@1/useful@$stride > 1.05] At a stride of $stride words the useful bandwidth of {gpu} is {useful@$stride} instead of {useful@1}, a factor of {useful@1/useful@$stride}: 32 threads need {sectors@$stride} sectors of 32 bytes instead of {sectors@1}.
| At a stride of $stride words the useful bandwidth of {gpu} is {useful@$stride}; side by side it is {useful@1}.

The measured factor is {useful@1/useful@$stride:measured}.
[dram@32/l2@32 > 1.05] DRAM delivers 64 bytes at a time: at a stride of 32 it moves {dram@32} for 134 MB of useful data, while {l2@32} reach the SMs.
[useful@64/useful@16:measured < 0.9] At strides of 32 words and more the measured bandwidth falls further, to {useful@64:measured} at 64 ({useful@64} predicted), although no more bytes are moved: for the same bytes DRAM opens more rows and more pages are translated.
[shifted@1/shifted@0 ~ 1] An offset of one word costs hardly anything by the count of sectors, {shifted@1/shifted@0:%} of the bandwidth remain.
[shifted@1/shifted@0:measured < 0.95] Measured {shifted@1/shifted@0:measured:%} remain: blocks that have drifted apart read the shared sector again.
[transpose@naive/transpose@tiled > 1.05] A transpose that writes columns takes {transpose@naive}, with a tile in shared memory {transpose@tiled}: {transpose@naive/transpose@tiled} times faster.
| A transpose takes {transpose@naive}, with a tile in shared memory {transpose@tiled}.)";
    return plan;
}

Plan bank_conflicts_plan(const Subject& subject) {
    const auto ways = [](std::int64_t degree) {
        return fmt::format("access pattern=bank_conflict dtype=fp32 elements=67108864 ways={}",
                           degree);
    };
    // With a stride of s words, gcd(s, 32) of the 32 threads share a bank.
    const auto stride = [&ways](std::int64_t words_apart) {
        return ways(std::gcd(words_apart, std::int64_t{32}));
    };
    std::vector<double> strides(64);
    std::iota(strides.begin(), strides.end(), 1.0);
    Plan plan;
    plan.figures.push_back({.title = "Threads of a warp that share a bank",
                            .x = {.title = "Ways", .unit = "", .scale = plot::Scale::log},
                            .y = {.title = "Time", .unit = "us", .scale = plot::Scale::log},
                            .quantity = Quantity::time,
                            .unit = microsecond,
                            .series = {sweep("ways", "256 MiB read", doubling(1, 32), ways)}});
    plan.figures.push_back(
        {.title = "A column of a tile in shared memory, by the width of its rows",
         .x = {.title = "Row of the tile", .unit = "words"},
         .y = {.title = "Time", .unit = "us"},
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {sweep("stride", "column read", strides, stride)}});
    plan.formula = "time = words x 4 bytes x ways / (128 B per clock x clock x SMs)";
    plan.ratio = {.what = "Time with 32 threads per bank over 1 thread per bank",
                  .above = "ways@32",
                  .below = "ways@1"};
    plan.facts["sharing"] = std::to_string(std::gcd(subject.at(knob::width), std::int64_t{32}));
    plan.text =
        R"([stride@$width/stride@33 > 1.05] Reading a column of a matrix with $width words in a row takes {stride@$width} on {gpu} and {stride@33} with 33 words, because {sharing} of 32 threads share a bank: {stride@$width/stride@33} times as long.
| Reading a column of a matrix with $width words in a row takes {stride@$width} on {gpu} and {stride@33} with 33 words.

[ways@32/ways@1 > 1.05] With all 32 threads on one bank 256 MiB take {ways@32} instead of {ways@1}, {ways@32/ways@1} times as long.
The measured ratio is {ways@32/ways@1:measured}.
Word i lies in bank i mod 32; threads that read the same word do not conflict.)";
    return plan;
}

Plan divergence_plan(const Subject& subject) {
    const auto paths = [](std::int64_t count) {
        return fmt::format("access pattern=divergent dtype=fp32 elements=4194304 paths={}", count);
    };
    Plan plan;
    plan.figures.push_back(
        {.title = "Threads of a warp on different paths",
         .x = {.title = "Paths", .unit = "", .scale = plot::Scale::log},
         .y = {.title = "Time", .unit = "us", .scale = plot::Scale::log},
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {sweep("paths", "512 FMA per thread",
                          with(doubling(1, 32), subject.at(knob::paths)), paths)}});
    Series both{.id = "both", .name = "both branches issued"};
    Series even{.id = "even", .name = "branches of equal length"};
    Series uneven{.id = "uneven", .name = "first branch 4 times as long"};
    for (const double p : {0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0}) {
        both.points.push_back({.x = p, .value = model::both_branches(p)});
        even.points.push_back({.x = p, .value = model::branch_time(p, 1.0, 1.0)});
        uneven.points.push_back({.x = p, .value = model::branch_time(p, 4.0, 1.0)});
    }
    plan.figures.push_back({.title = "Branches taken at random",
                            .x = {.title = "Probability of the first branch"},
                            .y = {.title = "Share of warps"},
                            .quantity = Quantity::number,
                            .series = {std::move(both)}});
    plan.figures.push_back({.title = "Expected time of a warp",
                            .x = {.title = "Probability of the first branch"},
                            .y = {.title = "Relative time", .unit = "short branch = 1"},
                            .quantity = Quantity::number,
                            .series = {std::move(even), std::move(uneven)}});
    plan.formula =
        "both branches with probability 1 - p^32 - (1 - p)^32; a warp's time is the sum "
        "over the branches that it issues";
    plan.ratio = {.what = "Time of 32 paths over one", .above = "paths@32", .below = "paths@1"};
    plan.text =
        R"([paths@$paths/paths@1 > 1.05] A warp whose threads take $paths paths takes {paths@$paths} on {gpu} instead of {paths@1} on one: {paths@$paths/paths@1} times as long, one path after the other.
| A warp whose threads take $paths paths takes {paths@$paths} on {gpu}, on one path {paths@1}.

The measured ratio of 32 paths is {paths@32/paths@1:measured}.
If each thread takes a rare side with a probability of 5 %, {both@0.05:%} of all warps issue both sides; at 1 % it is {both@0.01:%}.
[even@0.05 > 1.05] Sides of equal length then take {even@0.05} times as long on average as one without divergence.
The remedy is to make the threads of a warp agree: branch on the index of the warp, or sort the work by path.)";
    return plan;
}

}  // namespace ridge::effects
