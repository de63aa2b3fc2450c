// How threads reach memory, and what branches cost.
#include <fmt/format.h>

#include <numeric>

#include "effects/lessons/lessons.h"
#include "hardware/si.h"
#include "model/access/divergence.h"
#include "model/access/work.h"

namespace ridge::effects {
namespace {

constexpr double words = 33554432.0;        // of 4 bytes
constexpr double many_words = 134217728.0;  // 512 MiB, far beyond any L2
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

/// Sectors that one warp asks for, by the model's count.
Series sectors(const std::vector<double>& strides) {
    Series series{.id = "sectors", .name = "sectors of a warp"};
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
        {.title = "Bandwidth of use against stride",
         .x = {.title = "Stride", .unit = "words", .scale = plot::Scale::log},
         .y = {.title = "Bandwidth of use", .unit = "GB/s", .scale = plot::Scale::log},
         .quantity = Quantity::bandwidth,
         .unit = giga,
         .series = {sweep("useful", "of use", strides, strided, useful)}});
    Series l2 = sweep("l2", "L2 to the SMs", strides, strided);
    l2.quantity = Quantity::l2_traffic;
    Series dram = sweep("dram", "DRAM", strides, strided);
    plan.figures.push_back({.title = "Bytes moved for 134 MB of use",
                            .x = {.title = "Stride", .unit = "words", .scale = plot::Scale::log},
                            .y = {.title = "Moved", .unit = "MB", .scale = plot::Scale::log},
                            .quantity = Quantity::traffic,
                            .unit = mega,
                            .series = {std::move(dram), std::move(l2)}});
    plan.figures.push_back({.title = "Sectors of 32 bytes that one warp asks for",
                            .x = {.title = "Stride", .unit = "words", .scale = plot::Scale::log},
                            .y = {.title = "Sectors", .unit = ""},
                            .quantity = Quantity::number,
                            .series = {sectors(strides)}});
    plan.figures.push_back(
        {.title = "Reading from a shifted start",
         .x = {.title = "Offset", .unit = "words"},
         .y = {.title = "Bandwidth of use", .unit = "GB/s"},
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
    plan.formula = "sectors of a warp = min(32, stride x bytes of a word), each of 32 bytes";
    plan.ratio = {.what = "Bandwidth of use, stride 1 over stride 8",
                  .above = "useful@1",
                  .below = "useful@8"};
    plan.text = R"(Memory does not move words, it moves sectors of 32 bytes.
Four of them make a cache line of 128 bytes, which notes take for the unit of a transfer; since the P100 each sector is fetched by itself (CUDA Best Practices Guide).
When the 32 threads of a warp read 32 neighbouring words of 4 bytes, they need {sectors@1} sectors and use every byte of them.
At a stride of 2 they need {sectors@2}, and from a stride of 8 words on each thread needs a sector of its own: {sectors@8} sectors, of which one byte in eight is used.

On {gpu} the bandwidth of use falls from {useful@1} to {useful@8} at a stride of 8, a factor of {useful@1/useful@8}.
Measured it is {useful@1/useful@8:measured}.
Beyond that the multiprocessors receive no more sectors than before, but DRAM delivers 64 bytes at once where the GPU has HBM: at a stride of 32 it moves {dram@32} for 134 MB of use, and {l2@32} pass between L2 and the multiprocessors.

A start that is not aligned costs one sector more a warp, 5 instead of 4, and that sector is the neighbouring warp's too.
An offset of one word leaves {shifted@1/shifted@0:%} of the bandwidth by this count.
Measured it leaves {shifted@1/shifted@0:measured:%}: blocks that have drifted apart read the shared sector from DRAM again.
Course notes say that misalignment halves the bandwidth, which holds for their example of a cache line of four elements alone; others let half a warp form one transaction, which was the rule before compute capability 2.0.

The usual culprit is a matrix walked the wrong way.
A naive transpose reads rows and writes columns, so each warp writes 32 sectors: {transpose@naive}.
Through a tile in shared memory both sides are rows: {transpose@tiled}, {transpose@naive/transpose@tiled} times faster.
Let neighbouring threads read neighbouring words; where the algorithm forbids it, turn the data around in shared memory.)";
    return plan;
}

Plan bank_conflicts_plan(const Subject&) {
    const auto ways = [](std::int64_t degree) {
        return fmt::format("access pattern=bank_conflict dtype=fp32 elements=67108864 ways={}",
                           degree);
    };
    // 32 threads at a stride of s words meet gcd(s, 32) to a bank.
    const auto stride = [&ways](std::int64_t words_apart) {
        return ways(std::gcd(words_apart, std::int64_t{32}));
    };
    std::vector<double> strides(33);
    std::iota(strides.begin(), strides.end(), 1.0);
    Plan plan;
    plan.figures.push_back({.title = "Threads of a warp on one bank",
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
    plan.ratio = {.what = "Time with 32 threads on one bank over none",
                  .above = "ways@32",
                  .below = "ways@1"};
    plan.text = R"(Shared memory has 32 banks, each 4 bytes wide; word i lies in bank i mod 32.
A warp that asks every bank for one word is served in one go.
When several of its threads want different words of one bank, the bank hands them out one after the other.

Reading the same 256 MiB takes {ways@1} without conflicts, {ways@2} when two threads share a bank and {ways@32} when all 32 do: {ways@32/ways@1} times as long.
Measured it is {ways@32/ways@1:measured}.
It is a little less than 32, since filling the memory costs the same in every case.

The classic case is a tile of 32 x 32 words that is written by rows and read by columns: a row is 32 words, so a column lies in one bank, and the read takes {stride@32}.
One unused word at the end of each row makes it 33, the column falls into 32 different banks, and the time is {stride@33}: {stride@32/stride@33} times faster for 3 % more memory.
Any odd width does; a width of 16 or 48 still puts 16 threads on a bank ({stride@16}).
Threads that read the same word do not conflict, it is sent to all of them.)";
    return plan;
}

Plan divergence_plan(const Subject&) {
    const auto paths = [](std::int64_t count) {
        return fmt::format("access pattern=divergent dtype=fp32 elements=4194304 paths={}", count);
    };
    Plan plan;
    plan.figures.push_back(
        {.title = "Threads of a warp on several paths",
         .x = {.title = "Paths", .unit = "", .scale = plot::Scale::log},
         .y = {.title = "Time", .unit = "us", .scale = plot::Scale::log},
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {sweep("paths", "512 FMA a thread", doubling(1, 32), paths)}});
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
                            .y = {.title = "Time of a short branch", .unit = "times"},
                            .quantity = Quantity::number,
                            .series = {std::move(even), std::move(uneven)}});
    plan.formula =
        "both branches with probability 1 - p^32 - (1 - p)^32; a warp's time is the sum "
        "of the branches that it issues";
    plan.ratio = {.what = "Time of 32 paths over one", .above = "paths@32", .below = "paths@1"};
    plan.text = R"(The 32 threads of a warp share one instruction at a time.
Where they disagree about a branch, the warp issues one side with the others switched off, then the other side.
So the time of a warp is the sum over the paths that any of its threads takes, not the longest of them.

The kernel here does the same arithmetic for every thread, on one of several code paths: one path takes {paths@1}, two take {paths@2}, 32 take {paths@32}, {paths@32/paths@1} times as long.
Measured it is {paths@32/paths@1:measured}.

Random branches are worse than they look.
If each thread takes the rare side with a probability of 5 %, {both@0.05:%} of all warps issue both sides; at 1 % it is still {both@0.01:%}.
With branches of equal length a warp then takes {even@0.05} times as long as a uniform one; when the rare side is four times as long as the other, {uneven@0.05} times the short side although the average thread does {mean} times its work.

What helps is to make warps agree: branch on the index of the warp or block, sort the work by path, or compute both sides and select, which is what the compiler does itself with a few instructions.
The random branches are counted, not run: the ratio above is that of the kernel with fixed paths.)";
    plan.facts["mean"] = fmt::format("{:.2f}", 0.05 * 4.0 + 0.95);
    return plan;
}

}  // namespace ridge::effects
