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

Plan coalescing_plan(const Subject&) {
    const std::vector<double> strides = doubling(1, 128);
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
    plan.ratio = {.what = "Useful bandwidth, stride 1 over stride 8",
                  .above = "useful@1",
                  .below = "useful@8"};
    plan.text = R"(Memory moves data in sectors of 32 bytes, not in words.
Four sectors make a cache line of 128 bytes, which course notes often call the unit of a transfer; since the P100 each sector is fetched on its own (CUDA Best Practices Guide).
When the 32 threads of a warp read 32 neighbouring words of 4 bytes, they need {sectors@1} sectors and use every byte of them.
At a stride of 2 they need {sectors@2}, and from a stride of 8 words on each thread needs its own sector: {sectors@8} sectors, of which one byte in eight is used.

On {gpu} the useful bandwidth falls from {useful@1} to {useful@8} at a stride of 8, a factor of {useful@1/useful@8}.
The measured factor is {useful@1/useful@8:measured}.
Beyond that the SMs receive no more sectors than before, but on GPUs with HBM, DRAM delivers 64 bytes at a time: at a stride of 32 it moves {dram@32} for 134 MB of useful data, and {l2@32} pass between the L2 and the SMs.

A misaligned start costs one more sector per warp, 5 instead of 4, and the neighbouring warp needs that sector too.
By this count an offset of one word leaves {shifted@1/shifted@0:%} of the bandwidth.
The measurement gives {shifted@1/shifted@0:measured:%}: blocks that have drifted apart read the shared sector from DRAM again.
Some course notes say that misalignment halves the bandwidth, which holds only for their example of a cache line of four elements; others say that half a warp forms one transaction, which was the rule before compute capability 2.0.

The usual cause of strided access is a matrix that is traversed in the wrong direction.
A naive transpose reads rows and writes columns, so each warp writes 32 sectors: {transpose@naive}.
With a tile in shared memory, both the reads and the writes go along rows: {transpose@tiled}, {transpose@naive/transpose@tiled} times faster.
Let neighbouring threads read neighbouring words; if the algorithm does not allow that, rearrange the data in shared memory.)";
    return plan;
}

Plan bank_conflicts_plan(const Subject&) {
    const auto ways = [](std::int64_t degree) {
        return fmt::format("access pattern=bank_conflict dtype=fp32 elements=67108864 ways={}",
                           degree);
    };
    // With a stride of s words, gcd(s, 32) of the 32 threads share a bank.
    const auto stride = [&ways](std::int64_t words_apart) {
        return ways(std::gcd(words_apart, std::int64_t{32}));
    };
    std::vector<double> strides(33);
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
    plan.text = R"(Shared memory has 32 banks, each 4 bytes wide; word i lies in bank i mod 32.
If the threads of a warp read from different banks, all of them are served at once.
If several threads want different words of the same bank, the bank delivers these words one after another.

Reading the same 256 MiB takes {ways@1} without conflicts, {ways@2} when two threads share a bank and {ways@32} when all 32 do: {ways@32/ways@1} times as long.
The measured ratio is {ways@32/ways@1:measured}.
It is a little less than 32, because filling the shared memory costs the same in every case.

The classic case is a tile of 32 x 32 words that is written by rows and read by columns: a row is 32 words, so a whole column lies in one bank, and the read takes {stride@32}.
One unused word at the end of each row makes the row 33 words long, the column is spread over 32 different banks, and the time falls to {stride@33}: {stride@32/stride@33} times faster for 3 % more memory.
Any odd width works; a width of 16 or 48 still puts 16 threads on a bank ({stride@16}).
Threads that read the same word do not conflict, because the bank sends the word to all of them.)";
    return plan;
}

Plan divergence_plan(const Subject&) {
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
         .series = {sweep("paths", "512 FMA per thread", doubling(1, 32), paths)}});
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
    plan.text = R"(The 32 threads of a warp share one instruction at a time.
If they disagree about a branch, the warp issues one side with the other threads switched off, then the other side.
So the time of a warp is the sum over all paths that any of its threads takes, not the time of the longest path.

The kernel here does the same arithmetic for every thread, but on one of several code paths: one path takes {paths@1}, two take {paths@2}, 32 take {paths@32}, {paths@32/paths@1} times as long.
The measured ratio is {paths@32/paths@1:measured}.

Random branches are worse than they look.
If each thread takes the rare side with a probability of 5 %, {both@0.05:%} of all warps issue both sides; at 1 % it is still {both@0.01:%}.
With branches of equal length a warp then takes {even@0.05} times as long as one without divergence; if the rare side is four times as long as the other, it takes {uneven@0.05} times as long as the short side, although an average thread does only {mean} times its work.

The remedy is to make the threads of a warp agree: branch on the index of the warp or block, sort the work by path, or compute both sides and select, which the compiler itself does for a few instructions.
{if measured}The figures for random branches are computed, not measured: the measured ratio above comes from the kernel with fixed paths.)";
    plan.facts["mean"] = fmt::format("{:.2f}", 0.05 * 4.0 + 0.95);
    return plan;
}

}  // namespace ridge::effects
