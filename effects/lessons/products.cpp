// Matrix products: tiles, waves, alignment, and the sawtooth that these three cause together.
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

/// Traffic between L2 and SMs by the edge length of square tiles (M3).
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

/// Fractions of a wave and whole waves up to four, and counts of one block more than whole waves.
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
    plan.figures.push_back({.title = "Operand traffic between L2 and SMs, 2048^3 in fp32",
                            .x = {.title = "Edge of a tile", .scale = plot::Scale::log},
                            .y = {.title = "Traffic", .unit = "GB", .scale = plot::Scale::log},
                            .quantity = Quantity::l2_traffic,
                            .unit = giga,
                            .series = {tile_traffic(2048)}});
    Series l2 = named("l2", "L2 to the SMs", ladder());
    l2.quantity = Quantity::l2_traffic;
    plan.figures.push_back({.title = "Traffic of the kernels",
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
    plan.figures.push_back({.title = "Useful share of the area covered by tiles",
                            .x = {.title = "n of an n x n result"},
                            .y = {.title = "Share"},
                            .quantity = Quantity::number,
                            .series = {edge_waste()}});
    plan.formula = "bytes = e k (m ceil(n / bn) + n ceil(m / bm)) + c m n";
    plan.ratio = {.what = "Rate of the register-tiled kernel over the naive one",
                  .above = "rate@register_tiled",
                  .below = "rate@naive"};
    plan.text =
        R"(A product of two n x n matrices does 2 n^3 FLOP on 3 n^2 numbers, so every operand element is used n times.
Tiling decides whether it is also fetched n times.
If each block computes a T x T piece of the result, each operand is read n / T times: the traffic falls in proportion to the edge of the tile.

Without tiles, the operands of a 2048^3 product in fp32 would need {edge@1}; tiles of 32 need {edge@32}, tiles of 128 {edge@128}, {edge@1/edge@128} times less.
This is the traffic between the L2 and the SMs: DRAM sees little of it, because the L2 holds matrices of this size ({dram@naive} for the naive kernel).

The speed of the kernels shows the same.
In the naive kernel each thread walks along a row and a column: {rate@naive}.
With neighbouring threads on neighbouring columns: {rate@coalesced}.
With tiles of 32 in shared memory: {rate@tiled}.
With tiles of 128, of which each thread keeps 8 x 8 in registers: {rate@register_tiled}, {rate@register_tiled/rate@naive} times the naive kernel (measured {rate@register_tiled/rate@naive:measured}).
The library reaches {rate@library} of {peak_fp32}.
Shared memory alone is not enough: with a tile of 32 each FMA still reads two words of shared memory, and registers are the next level.

Large tiles waste work at the edges.
Tiles of 128 cover a result of 640 x 640 exactly; for 656 x 656 they waste {waste} of the area they cover. The larger the matrix, the less this matters.)";
    const model::Tiling tiling =
        model::matmul_tiling({.m = 656, .n = 656, .k = 656}, {.m = 128, .n = 128, .k = 32}, 132, 1);
    plan.facts["waste"] = fmt::format("{:.0f} %", 100.0 * (1.0 - tiling.tile_efficiency));
    return plan;
}

Plan wave_quantization_plan(const Subject& subject) {
    const std::int64_t sms = subject.machine.sm_count;
    Plan plan;
    if (sms < 4) {
        plan.refused = sms == 0 ? "it has no multiprocessors that run thread blocks"
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
    Series chosen = sweep("library", "tile chosen by the library",
                          {1536, 1664, 1791, 1792, 1793, 1920, 2048}, squares("impl=library"));
    chosen.joined = false;  // odd sizes lie between aligned ones
    plan.figures.push_back(
        {.title = "A library's product around 1792, bf16",
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
    plan.ratio = {.what = "Time with one block more than SMs, over one block per SM",
                  .above = "blocks@one more",
                  .below = "blocks@full"};
    plan.text =
        R"(A GPU with {sms} SMs that gets {sms} equal thread blocks finishes them all at the same time.
If it gets {next}, one SM runs two blocks and all others wait for it: {blocks@one more} against {blocks@full}, {blocks@one more/blocks@full} times as long for 1 % more work.
The measured ratio is {blocks@one more/blocks@full:measured}.
The time does not quite double if two blocks fit on one SM, because each runs while the other waits.
The rate falls from {rate@full} to {rate@one more} and recovers until the second wave is full.
The more waves there are, the less the last one matters: with four blocks per SM, an almost empty last wave costs at most a fifth.

The number of tiles matters, not the size of the matrix.
The rule "make the matrix a multiple of the number of multiprocessors", found in course notes, is wrong: the number of tiles should be a multiple of the number of blocks that the GPU holds at once.
With tiles of 256 x 128, a product of 1792^3 has {tiles1792} on this GPU and a product of 1793^3 has {tiles1793}.
On an A100 with its 108 SMs these are 98 tiles in one wave and 120 tiles in two waves, the example of those notes.

Libraries avoid such steps: they choose another tile or split k, so their steps are smaller and lie at other sizes.
The library's measured rate is {library@1792:measured} at 1792, {library@1920:measured} at 1920 and {library@2048:measured} at 2048.
A kernel with a fixed tile, which is what most people write, shows the full step.
The drop of the library to {library@1793} at 1793, as predicted, is another effect: rows of odd length (see alignment).)";
    return plan;
}

Plan alignment_plan(const Subject&) {
    std::vector<double> all(17);
    std::iota(all.begin(), all.end(), 2040.0);
    const std::vector<double> some{2040, 2044, 2046, 2047, 2048, 2049, 2050, 2052, 2056};
    Plan plan;
    plan.figures.push_back(
        {.title = "A library's square products around 2048",
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
    plan.ratio = {.what = "Time with a vocabulary of 50257 over 50304",
                  .above = "gpt2@50257",
                  .below = "gpt2@50304"};
    plan.text = R"(Data reaches the tensor cores through copies of 16 bytes.
If the rows of a matrix do not begin at multiples of 16 bytes, such copies are impossible, and the library falls back to kernels that load 8, 4 or 2 bytes at a time.

In bf16, rows must be multiples of 8 elements: {bf16@2048} at 2048, {bf16@2052} at 2052 (rows aligned to 8 bytes), {bf16@2050} at 2050 (4 bytes) and {bf16@2049} at 2049 (2 bytes), which is {bf16@2048/bf16@2049} times slower than at 2048.
The measured ratio between 2048 and 2049 is {bf16@2048/bf16@2049:measured}.
In tf32 an element has 4 bytes, so every fourth size is aligned: {tf32@2048} at 2048 and {tf32@2049} at 2049.
The measured rates are {tf32@2048:measured} and {tf32@2049:measured}: the model has no separate kernels for misaligned rows in tf32, so its prediction is too fast there.
Only the dimension that is contiguous in memory matters: an odd number of rows costs nothing.

The best-known case is the vocabulary of GPT-2.
A product of 8192 x 50257 x 768 takes {gpt2@50257}; padded to 50304, the next multiple of 64, it takes {gpt2@50304}, although it does more work: {gpt2@50257/gpt2@50304} times faster.
The author of that change reported 25 % for a whole training step and explained it by "a different kernel path with much higher occupancy"; in a later program of his the same change gave 4 %.
The actual reason is alignment, and the gain of a step depends on the share of this one product.)";
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
             sweep("library", "library, rows aligned to 16 bytes", aligned,
                   squares("impl=library")),
             sweep("odd", "library, odd sizes", odd, squares("impl=library")),
             sweep("bundled", "bundled, tiles of 128 x 128", bundled, squares("impl=mma"))}});
    plan.formula = "min(peak, intensity x bandwidth) x tile and wave efficiency, by alignment";
    plan.ratio = {.what = "Rate at 4096 over 4097", .above = "library@4096", .below = "odd@4097"};
    plan.text =
        R"(Plotted against size, the throughput of square products looks like noise: it rises, shows a sawtooth, and jumps by a factor of two or more between neighbouring sizes.
It is not noise.

The rise comes from the roofline and the size of the GPU.
At 512 there are not enough tiles for {sms} SMs, and the launch takes a large part of the time: {library@512}.
At 2048 the rate is {library@2048}, at 8192 {library@8192} of {peak_bf16}; at large sizes power, not bandwidth, keeps it below the peak.

The points far below the others are sizes whose rows are not aligned to 16 bytes: 4096 reaches {library@4096}, 4097 only {odd@4097}, {library@4096/odd@4097} times less.
The measured ratio is {library@4096/odd@4097:measured}.
The cause is alignment, the only one of the three effects that costs a factor at every size.

The teeth come from tiles and waves.
A kernel with one fixed tile of 128 x 128 shows them clearly: {bundled@1792} at 1792, {bundled@2048} at 2048, {bundled@2304} at 2304, depending on whether the last wave is full or nearly empty.
The library switches between tiles and splits k, so its teeth are smaller and lie at other sizes, and its predicted rate changes smoothly: {library@1792} at 1792 and {library@2560} at 2560.
The measured rates are {library@1792:measured} and {library@2560:measured}.

The advice follows in this order: make every contiguous dimension a multiple of 8 elements (better 64), then compare the number of tiles with the number of SMs. Above 4096 the teeth are small and need no attention.)";
    return plan;
}

}  // namespace ridge::effects
