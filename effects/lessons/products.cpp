// Matrix products: tiles, waves, alignment, and the sawtooth that these three cause together.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "effects/lessons/lessons.h"
#include "hardware/algorithms.h"
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

std::vector<Named> ladder(std::int64_t n) {
    std::vector<Named> out;
    for (const char* kernel : {"naive", "coalesced", "tiled", "register_tiled", "library"}) {
        out.push_back({kernel, square(n, fmt::format("dtype=fp32 impl={}", kernel))});
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

/// Names the counts that the text speaks of. What was asked for stands there once more, because a
/// point has one name.
void name_waves(Series& series, std::int64_t sms, std::int64_t asked) {
    for (Point& point : series.points) {
        const auto count = static_cast<std::int64_t>(point.x);
        if (count == sms) point.name = "full";
        if (count == sms + 1) point.name = "one more";
        if (count == 4 * sms) point.name = "four each";
    }
    const auto found = algorithms::find(series.points, static_cast<double>(asked), &Point::x);
    Point again = *found;
    again.name = "asked";
    series.points.insert(found + 1, std::move(again));
}

}  // namespace

Plan tiling_plan(const Subject& subject) {
    const std::int64_t size = subject.at(knob::tiled_size);
    const std::vector<Named> kernels = ladder(size);
    Plan plan;
    plan.figures.push_back({.title = "Operand traffic between L2 and SMs, $size^3 in fp32",
                            .x = {.title = "Edge of a tile", .scale = plot::Scale::log},
                            .y = {.title = "Traffic", .unit = "GB", .scale = plot::Scale::log},
                            .quantity = Quantity::l2_traffic,
                            .unit = giga,
                            .series = {tile_traffic(size)}});
    Series l2 = named("l2", "L2 to the SMs", kernels);
    l2.quantity = Quantity::l2_traffic;
    plan.figures.push_back({.title = "Traffic of the kernels",
                            .x = {.title = "Kernel", .names = names_of(kernels)},
                            .y = {.title = "Traffic", .unit = "GB", .scale = plot::Scale::log},
                            .quantity = Quantity::traffic,
                            .unit = giga,
                            .series = {named("dram", "DRAM", kernels), std::move(l2)}});
    plan.figures.push_back({.title = "Rate of the same kernels",
                            .x = {.title = "Kernel", .names = names_of(kernels)},
                            .y = {.title = "Rate", .unit = "TFLOP/s", .scale = plot::Scale::log},
                            .quantity = Quantity::rate,
                            .unit = tera,
                            .series = {named("rate", "fp32", kernels)}});
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
        R"([rate@register_tiled/rate@naive > 1.05; rate@tiled/rate@naive > 1.05] A product of $size^3 in fp32 runs at {rate@naive} on {gpu} with one thread for each result, at {rate@tiled} with tiles of 32 in shared memory and at {rate@register_tiled} with 8 x 8 results in the registers of each thread: {rate@register_tiled/rate@naive} times as fast as the first.
| A product of $size^3 in fp32 runs at {rate@naive} on {gpu} with one thread for each result, at {rate@tiled} with tiles of 32 in shared memory and at {rate@register_tiled} with results in registers.

The measured ratio is {rate@register_tiled/rate@naive:measured}.
[rate@library/rate@register_tiled > 1.05] The library reaches {rate@library} of {peak_fp32}.
| [rate@library/rate@register_tiled ~ 1] The library is about as fast: {rate@library}.
[edge@1/edge@128 > 1.05] Without tiles the SMs would fetch {edge@1}, with tiles of 128 {edge@128}: {edge@1/edge@128} times less.
Large tiles waste work at the edges: tiles of 128 over a result of 656 x 656 waste {waste} of their area.)";
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
    const std::int64_t set = subject.at(knob::blocks);
    const std::int64_t asked = set == 0 ? sms + 1 : set;
    const std::vector<double> counts = with(counts_of_blocks(sms), asked);
    Series time = sweep("blocks", "tiles of 128 x 128", counts, blocks);
    Series rate = sweep("rate", "tiles of 128 x 128", counts, blocks);
    for (Series* series : {&time, &rate}) name_waves(*series, sms, asked);
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
    plan.facts["asked"] = std::to_string(asked);
    plan.formula = "waves = ceil(tiles / (SMs x blocks per SM))";
    plan.ratio = {.what = fmt::format("Time of {} tiles over {}, one for each SM", asked, sms),
                  .above = "blocks@asked",
                  .below = "blocks@full"};
    plan.text =
        R"([blocks@asked/blocks@full > 1.05] {asked} tiles of 128 x 128 take {blocks@asked} on the {sms} SMs of {gpu}; {sms} tiles take {blocks@full}: {blocks@asked/blocks@full} times as long.
| [blocks@asked/blocks@full ~ 1] {asked} tiles of 128 x 128 take {blocks@asked} on the {sms} SMs of {gpu}, about as long as {sms} tiles ({blocks@full}): on this GPU no wave is lost.
| {asked} tiles of 128 x 128 take {blocks@asked} on the {sms} SMs of {gpu}; {sms} tiles take {blocks@full}.

The measured ratio is {blocks@asked/blocks@full:measured}.
[blocks@one more/blocks@full > 1.05; rate@one more/rate@full < 0.95] One tile more than SMs lowers the rate from {rate@full} to {rate@one more}: one SM runs two tiles and the others wait.
With tiles of 256 x 128 a product of 1792^3 has {tiles1792} on this GPU, one of 1793^3 {tiles1793}; on an A100 with 108 SMs these are 98 tiles in one wave and 120 in two, the example of course notes.
The number of tiles should be a multiple of what the GPU holds at once, not the size of the matrix.
Libraries choose other tiles or split k, so their steps are smaller: measured {library@1792:measured} at 1792 and {library@1920:measured} at 1920.)";
    return plan;
}

Plan alignment_plan(const Subject& subject) {
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
         .series = {sweep("bf16", "bf16", with(all, subject.at(knob::aligned_size)),
                          squares("dtype=bf16 impl=library")),
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
    const std::int64_t row = 2 * subject.at(knob::aligned_size);  // bytes
    plan.numbers["alignment"] = static_cast<double>(std::min<std::int64_t>(16, row & -row));
    plan.ratio = {.what = "Rate at 2048 over $size", .above = "bf16@2048", .below = "bf16@$size"};
    plan.text =
        R"([bf16@2048/bf16@$size > 1.05; alignment < 16] Square products in bf16 run at {bf16@2048} at 2048 on {gpu} and at {bf16@$size} at $size, {bf16@2048/bf16@$size} times slower: rows of $size numbers do not all begin at multiples of 16 bytes.
| [bf16@2048/bf16@$size > 1.05] Square products in bf16 run at {bf16@2048} at 2048 on {gpu} and at {bf16@$size} at $size, whose rows are aligned too: {bf16@2048/bf16@$size} times slower, for other reasons than alignment.
| [bf16@2048/bf16@$size ~ 1] Square products in bf16 run at {bf16@2048} at 2048 on {gpu} and at {bf16@$size} at $size: hardly a difference on this GPU.
| Square products in bf16 run at {bf16@2048} at 2048 on {gpu} and at {bf16@$size} at $size.

The measured ratio is {bf16@2048/bf16@$size:measured}.
[gpt2@50257/gpt2@50304 > 1.05] The last layer of GPT-2 takes {gpt2@50257} with 50257 words and {gpt2@50304} padded to 50304: more work, {gpt2@50257/gpt2@50304} times faster.
| [gpt2@50257/gpt2@50304 ~ 1] The last layer of GPT-2 takes {gpt2@50257} with 50257 words and {gpt2@50304} padded to 50304: padding hardly matters here.
| The last layer of GPT-2 takes {gpt2@50257} with 50257 words and {gpt2@50304} padded to 50304: here padding does not pay.
The measured ratio of these two is {gpt2@50257/gpt2@50304:measured}.
[tf32@2049/tf32@2049:measured > 1.2] In tf32 {tf32@2049} is predicted at 2049 and {tf32@2049:measured} measured: the model has no kernels of its own for misaligned rows in tf32.
Only the dimension that is contiguous in memory counts: an odd number of rows costs nothing.
The author of that padding reported 25 % for a training step, and 4 % in a later program: it depends on the share of this product.)";
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
        R"([library@4096/odd@4097 > 1.05] A product of 4096^3 runs at {library@4096} on {gpu} and one of 4097^3 at {odd@4097}, {library@4096/odd@4097} times slower: its rows do not begin at multiples of 16 bytes.
| [library@4096/odd@4097 ~ 1] A product of 4096^3 runs at {library@4096} on {gpu}, one of 4097^3 at {odd@4097}: on this GPU no cliff is modelled.
| A product of 4096^3 runs at {library@4096} on {gpu}, one of 4097^3 at {odd@4097}.

The measured ratio is {library@4096/odd@4097:measured}.
A kernel with one fixed tile of 128 x 128 shows the teeth of waves: {bundled@1792} at 1792, {bundled@2048} at 2048, {bundled@2304} at 2304.
The library switches tiles and splits k: {library@1792} at 1792, {library@2048} at 2048, {library@2304} at 2304.
Measured: {library@1792:measured}, {library@2048:measured} and {library@2304:measured}.
First make every contiguous dimension a multiple of 8 elements, better of 64; then compare the number of tiles with the number of SMs.)";
    return plan;
}

}  // namespace ridge::effects
