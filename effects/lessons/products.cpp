// Matrix products: tiles, waves, alignment, and the sawtooth that they make together.
#include <fmt/format.h>

#include <numeric>

#include "effects/lessons/lessons.h"
#include "hardware/si.h"
#include "hardware/units.h"
#include "model/matmul/work.h"

namespace ridge::effects {
namespace {

using si::giga;
using si::microsecond;
using si::tera;

std::string square(std::int64_t n, std::string_view how) {
    return fmt::format("matmul m={0} n={0} k={0} {1}", n, how);
}

Work squares(const char* how) {
    return [how](std::int64_t n) { return square(n, how); };
}

/// Traffic between L2 and the multiprocessors by the edge of square tiles (M3).
Series tile_traffic(std::int64_t n) {
    Series series{.id = "edge", .name = "by the formula"};
    const model::Matmul op{
        .m = n, .n = n, .k = n, .type = model::DataType::fp32, .output = model::DataType::fp32};
    for (const std::int32_t edge : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
        const Bytes bytes = model::matmul_tile_traffic(op, {.m = edge, .n = edge, .k = 8});
        series.points.push_back({.x = static_cast<double>(edge), .value = bytes.base()});
    }
    return series;
}

/// Useful share of the tiles of 128 x 128 that cover an n x n result (M4).
Series edge_waste() {
    Series series{.id = "covered", .name = "tiles of 128 x 128"};
    for (std::int64_t n = 512; n <= 1280; n += 16) {
        const model::Tiling tiling =
            model::matmul_tiling({.m = n, .n = n, .k = n}, {.m = 128, .n = 128, .k = 32}, 132, 1);
        series.points.push_back({.x = static_cast<double>(n), .value = tiling.tile_efficiency});
    }
    return series;
}

std::vector<Named> ladder() {
    std::vector<Named> out;
    for (const char* kernel : {"naive", "coalesced", "tiled", "register_tiled", "library"}) {
        out.push_back({kernel, square(2048, fmt::format("dtype=fp32 impl={}", kernel))});
    }
    return out;
}

std::vector<std::string> names_of(const std::vector<Named>& points) {
    std::vector<std::string> names;
    names.reserve(points.size());
    for (const Named& each : points) names.push_back(each.name);
    return names;
}

/// Tiles and waves of a square product with tiles of 256 x 128 on this GPU.
std::string waves_text(std::int64_t n, const model::Machine& machine) {
    const model::Tiling tiling = model::matmul_tiling(
        {.m = n, .n = n, .k = n}, {.m = 256, .n = 128, .k = 32}, machine.sm_count, 1);
    return fmt::format("{} tiles, {} wave{}", tiling.tiles, tiling.waves,
                       tiling.waves == 1 ? "" : "s");
}

/// Parts of waves and whole ones up to four, and one block more.
std::vector<double> counts_of_blocks(std::int64_t sms) {
    std::vector<double> counts{1.0};
    for (const std::int64_t quarter : {1, 2, 3, 4, 6, 8, 10, 12, 14, 16}) {
        const std::int64_t blocks = sms * quarter / 4;
        counts.push_back(static_cast<double>(blocks));
        const bool whole = quarter % 4 == 0;
        if (whole && quarter < 16) counts.push_back(static_cast<double>(blocks + 1));
    }
    return counts;
}

}  // namespace

Plan tiling_plan(const Subject&) {
    Plan plan;
    plan.figures.push_back({.title = "Operands that pass between L2 and SMs, 2048^3 in fp32",
                            .x = {.title = "Edge of the tile", .scale = plot::Scale::log},
                            .y = {.title = "Traffic", .unit = "GB", .scale = plot::Scale::log},
                            .quantity = Quantity::l2_traffic,
                            .unit = giga,
                            .series = {tile_traffic(2048)}});
    Series l2 = named("l2", "L2 to the SMs", ladder());
    l2.quantity = Quantity::l2_traffic;
    plan.figures.push_back({.title = "Bytes that the kernels move",
                            .x = {.title = "Kernel", .names = names_of(ladder())},
                            .y = {.title = "Traffic", .unit = "GB", .scale = plot::Scale::log},
                            .quantity = Quantity::traffic,
                            .unit = giga,
                            .series = {named("dram", "DRAM", ladder()), std::move(l2)}});
    plan.figures.push_back({.title = "Rate of the same kernels",
                            .x = {.title = "Kernel", .names = names_of(ladder())},
                            .y = {.title = "Rate", .unit = "TFLOP/s", .scale = plot::Scale::log},
                            .quantity = Quantity::rate,
                            .unit = tera,
                            .series = {named("rate", "2048^3 in fp32", ladder())}});
    plan.figures.push_back({.title = "What of the covered area is of use",
                            .x = {.title = "n of an n x n result"},
                            .y = {.title = "Share"},
                            .quantity = Quantity::number,
                            .series = {edge_waste()}});
    plan.formula = "bytes = e k (m ceil(n / bn) + n ceil(m / bm)) + c m n";
    plan.ratio = {.what = "Rate of the register-tiled kernel over the naive one",
                  .above = "rate@register_tiled",
                  .below = "rate@naive"};
    plan.text =
        R"(A product of two n x n matrices does 2 n^3 FLOP on 3 n^2 numbers, so every number is used n times.
Whether it is also fetched n times is a matter of tiling.
A block that computes a T x T piece of the result reads each operand n / T times: the traffic falls with the edge of the tile.

Untiled, the operands of a 2048^3 product in fp32 would take {edge@1}; tiles of 32 take {edge@32}, tiles of 128 {edge@128}, {edge@1/edge@128} times less.
Between L2 and the multiprocessors, that is: DRAM sees little of it, since the L2 holds matrices of this size ({dram@naive} for the naive kernel).

The kernels show the same in speed.
Naive, each thread walks a row and a column: {rate@naive}.
With neighbouring threads on neighbouring columns: {rate@coalesced}.
Tiles of 32 in shared memory: {rate@tiled}.
Tiles of 128 of which each thread keeps 8 x 8 in registers: {rate@register_tiled}, {rate@register_tiled/rate@naive} times the naive kernel (measured {rate@register_tiled/rate@naive:measured}).
The library reaches {rate@library} of {peak_fp32}.
Shared memory alone does not do it: a tile of 32 still reads two words of shared memory for each FMA, and registers are the level below.

Large tiles have a price at the edges.
A result of 640 is covered by tiles of 128 exactly, one of 656 wastes {waste} of the area it covers; the larger the matrix, the less that matters.)";
    const model::Tiling tiling =
        model::matmul_tiling({.m = 656, .n = 656, .k = 656}, {.m = 128, .n = 128, .k = 32}, 132, 1);
    plan.facts["waste"] = fmt::format("{:.0f} %", 100.0 * (1.0 - tiling.tile_efficiency));
    return plan;
}

Plan wave_quantization_plan(const Subject& subject) {
    const std::int64_t sms = subject.machine.sm_count;
    Plan plan;
    if (sms < 4) {
        plan.refused = sms == 0 ? "it has no multiprocessors that take thread blocks"
                                : "it has fewer than four multiprocessors (sm.count)";
        return plan;
    }
    const auto blocks = [](std::int64_t count) {
        return fmt::format("matmul m={} n=128 k=4096 impl=mma", 128 * count);
    };
    const std::vector<double> counts = counts_of_blocks(sms);
    Series time = sweep("blocks", "tiles of 128 x 128", counts, blocks);
    Series rate = sweep("rate", "tiles of 128 x 128", counts, blocks);
    for (Series* series : {&time, &rate}) {
        for (Point& point : series->points) {
            const auto count = static_cast<std::int64_t>(point.x);
            if (count == sms) point.name = "full";
            if (count == sms + 1) point.name = "one more";
            if (count == 4 * sms) point.name = "four each";
        }
    }
    plan.figures.push_back({.title = "Time against thread blocks, k = 4096, bf16",
                            .x = {.title = "Thread blocks"},
                            .y = {.title = "Time", .unit = "us"},
                            .quantity = Quantity::time,
                            .unit = microsecond,
                            .series = {std::move(time)}});
    plan.figures.push_back({.title = "Rate against thread blocks",
                            .x = {.title = "Thread blocks"},
                            .y = {.title = "Rate", .unit = "TFLOP/s"},
                            .quantity = Quantity::rate,
                            .unit = tera,
                            .series = {std::move(rate)}});
    Series chosen = sweep("library", "the library's choice",
                          {1536, 1664, 1791, 1792, 1793, 1920, 2048}, squares("impl=library"));
    chosen.joined = false;  // odd sizes stand between aligned ones
    plan.figures.push_back(
        {.title = "Around 1792: a library's product, bf16",
         .x = {.title = "m = n = k"},
         .y = {.title = "Rate", .unit = "TFLOP/s"},
         .quantity = Quantity::rate,
         .unit = tera,
         .series = {std::move(chosen),
                    sweep("fixed", "tiles of 256 x 128", {1536, 1664, 1792, 1920, 2048},
                          squares("impl=library tile=256x128"))}});
    plan.facts["tiles1792"] = waves_text(1792, subject.machine);
    plan.facts["tiles1793"] = waves_text(1793, subject.machine);
    plan.facts["next"] = std::to_string(sms + 1);
    plan.formula = "waves = ceil(tiles / (SMs x blocks per SM))";
    plan.ratio = {.what = "Time with one block more than SMs over one block each",
                  .above = "blocks@one more",
                  .below = "blocks@full"};
    plan.text =
        R"(A GPU of {sms} multiprocessors that is given {sms} equal thread blocks finishes them together.
Given {next}, one multiprocessor gets two, and all others wait for it: {blocks@one more} against {blocks@full}, {blocks@one more/blocks@full} times as long for 1 % more work.
Measured it is {blocks@one more/blocks@full:measured}.
It is not quite twice as long where two blocks fit on one multiprocessor and fill each other's waits.
The rate falls from {rate@full} to {rate@one more} and recovers until the second wave is full.
The more waves, the less the last one matters: with four blocks for each multiprocessor the loss of an almost empty last wave is a fifth at most.

What counts is the number of tiles, not the size of the matrix.
The rule "make the matrix a multiple of the number of multiprocessors", found in course notes, is wrong as it stands: the number of tiles should be a multiple of what the GPU holds at once.
With tiles of 256 x 128 a product of 1792^3 has {tiles1792} on this GPU, one of 1793^3 {tiles1793}.
On an A100 with its 108 multiprocessors that is 98 tiles in one wave against 120 in two, the example of those notes.

Libraries know all this: around such an edge they take another tile or split k, so their steps are smaller and lie elsewhere.
Measured the library's rate is {library@1792:measured} at 1792, {library@1920:measured} at 1920 and {library@2048:measured} at 2048.
A kernel whose tile is fixed, which is what most people write, shows the full step.
That the library falls to {library@1793} at 1793, by the model, is another effect: rows of an odd length (see alignment).)";
    return plan;
}

Plan alignment_plan(const Subject&) {
    std::vector<double> all(17);
    std::iota(all.begin(), all.end(), 2040.0);
    const std::vector<double> some{2040, 2044, 2046, 2047, 2048, 2049, 2050, 2052, 2056};
    Plan plan;
    plan.figures.push_back(
        {.title = "Squares around 2048, a library's product",
         .x = {.title = "m = n = k"},
         .y = {.title = "Rate", .unit = "TFLOP/s"},
         .quantity = Quantity::rate,
         .unit = tera,
         .series = {sweep("bf16", "bf16", all, squares("dtype=bf16 impl=library")),
                    sweep("tf32", "tf32", some, squares("dtype=tf32 impl=library"))}});
    const auto vocabulary = [](std::int64_t n) {
        return fmt::format("matmul m=8192 n={} k=768 dtype=bf16 impl=library", n);
    };
    const Series words = sweep("vocabulary", "8192 x n x 768, bf16", {50257, 50304}, vocabulary);
    plan.figures.push_back(
        {.title = "The last layer of GPT-2",
         .x = {.title = "Vocabulary", .names = {"50257", "50304"}},
         .y = {.title = "Time", .unit = "us"},
         .quantity = Quantity::time,
         .unit = microsecond,
         .series = {named("gpt2", words.name,
                          {{"50257", words.points[0].work}, {"50304", words.points[1].work}})}});
    plan.formula = "alignment = largest power of two up to 16 bytes that divides every row";
    plan.ratio = {.what = "Time of a vocabulary of 50257 over 50304",
                  .above = "gpt2@50257",
                  .below = "gpt2@50304"};
    plan.text = R"(Tensor cores are fed by copies of 16 bytes.
Where the rows of a matrix do not begin at multiples of 16 bytes such copies are impossible, and the library falls back to kernels that load 8, 4 or 2 bytes at a time.

In bf16 that means multiples of 8 elements: {bf16@2048} at 2048, {bf16@2052} at 2052 (rows at 8 bytes), {bf16@2050} at 2050 (4 bytes) and {bf16@2049} at 2049 (2 bytes), {bf16@2048/bf16@2049} times slower than one column less.
Measured the step from 2048 to 2049 is {bf16@2048/bf16@2049:measured}.
In tf32 an element is 4 bytes, so every fourth size is aligned: {tf32@2048} at 2048 and {tf32@2049} at 2049.
Measured these are {tf32@2048:measured} and {tf32@2049:measured}: the model knows no kernels of their own for odd rows of tf32 and is too fast there.
Only the dimension that lies contiguously in memory matters: an odd number of rows costs nothing.

The well-known case is the vocabulary of GPT-2.
A product of 8192 x 50257 x 768 takes {gpt2@50257}; padded to 50304, the next multiple of 64, it takes {gpt2@50304} although it computes more: {gpt2@50257/gpt2@50304} times faster.
Its author spoke of 25 % for a whole training step and of "a different kernel path with much higher occupancy"; in a later program of his the same change gave 4 %.
Alignment is the reason, and what a step gains depends on the share of this one product.)";
    return plan;
}

Plan matmul_mystery_plan(const Subject&) {
    const std::vector<double> aligned{512,  640,  768,  896,  1024, 1152, 1280, 1536, 1664,
                                      1792, 1920, 2048, 2304, 2560, 2816, 3072, 3584, 3840,
                                      4096, 4608, 5120, 5632, 6144, 6656, 7168, 7680, 8192};
    const std::vector<double> odd{777, 1001, 1535, 1793, 2047, 2561, 3073, 4097, 5001, 6145, 8191};
    const std::vector<double> bundled{512,  1024, 1536, 1792, 2048, 2304,
                                      2560, 3072, 4096, 5120, 6144, 8192};
    Plan plan;
    plan.figures.push_back(
        {.title = "Throughput of square products in bf16",
         .x = {.title = "m = n = k"},
         .y = {.title = "Rate", .unit = "TFLOP/s"},
         .quantity = Quantity::rate,
         .unit = tera,
         .series = {
             sweep("library", "library, rows at 16 bytes", aligned, squares("impl=library")),
             sweep("odd", "library, odd sizes", odd, squares("impl=library")),
             sweep("bundled", "bundled, tiles of 128 x 128", bundled, squares("impl=mma"))}});
    plan.formula =
        "min of peak, intensity x bandwidth; times tile and wave efficiency; by alignment";
    plan.ratio = {.what = "Rate at 4096 over 4097", .above = "library@4096", .below = "odd@4097"};
    plan.text =
        R"(Plot the throughput of square products against their size and it looks like noise: it rises, saws, and between neighbouring sizes it jumps by a factor of two or more.
None of it is noise.

The rise is the roofline and the size of the machine.
At 512 there are not enough tiles for {sms} multiprocessors and the launch is a good part of the time: {library@512}.
At 2048 it is {library@2048}, at 8192 {library@8192} of {peak_bf16}; what is missing at the end is power, not bandwidth.

The points far below the others are sizes whose rows are not at multiples of 16 bytes: 4096 reaches {library@4096}, 4097 {odd@4097}, {library@4096/odd@4097} times less.
Measured it is {library@4096/odd@4097:measured}.
That is alignment, and the only one of the three that costs a factor at every size.

The teeth are tiles and waves.
A kernel with one fixed tile of 128 x 128 shows them plainly: {bundled@1792} at 1792, {bundled@2048} at 2048, {bundled@2304} at 2304, as the last wave is full or nearly empty.
The library moves between tiles and splits k, so its teeth are smaller and lie elsewhere, and the model of it is smooth: it expects {library@1792} at 1792 and {library@2560} at 2560.
Measured are {library@1792:measured} and {library@2560:measured}.

So the advice is in that order: make every contiguous dimension a multiple of 8 elements (better 64), then count tiles against multiprocessors, and then stop worrying: above 4096 the teeth are small.)";
    return plan;
}

}  // namespace ridge::effects
