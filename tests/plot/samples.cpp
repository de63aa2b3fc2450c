#include "tests/plot/samples.h"

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "plot/text.h"

namespace ridge::plot::samples {

namespace {

OperationPoint point(const std::string& name, double intensity, double rate, double time_us,
                     const std::string& bound) {
    return {.name = name,
            .x = intensity,
            .y = rate,
            .order = time_us,
            .terms = {{.name = "time", .value = number_text(time_us) + " us", .number = time_us},
                      {.name = "bound", .value = bound}}};
}

}  // namespace

Roofline predictions() {
    Roofline out;
    out.title = "H100 SXM: bf16 roofline";
    out.subtitle = "Datasheet ceilings, dense; predicted points are GPU time with a warm clock";
    out.memory = {{.name = "DRAM", .value = "3.35 TB/s", .slope = 3.35, .emphasised = true},
                  {.name = "L2", .resource = Resource::l2, .value = "7.6 TB/s", .slope = 7.6},
                  {.name = "shared memory",
                   .resource = Resource::shared,
                   .value = "33.4 TB/s",
                   .slope = 33.4}};
    out.compute = {{.type = "bf16",
                    .name = "tensor",
                    .value = "989 TFLOP/s",
                    .rate = 989.4,
                    .emphasised = true},
                   {.type = "fp32",
                    .name = "FMA",
                    .resource = Resource::fma,
                    .value = "66.9 TFLOP/s",
                    .rate = 66.9},
                   {.type = "fp64",
                    .name = "FMA",
                    .resource = Resource::fma,
                    .value = "33.5 TFLOP/s",
                    .rate = 33.5}};
    out.points = {point("matmul 4096³", 1365.3, 812.0, 169.2, "compute"),
                  point("matmul 8192³", 2730.7, 873.0, 1259.0, "compute"),
                  point("matmul 8192×128×8192", 124.1, 362.0, 47.4, "memory"),
                  point("attention 4k flash2", 1024.0, 520.0, 264.0, "compute"),
                  point("attention 16k flash2", 4096.0, 610.0, 3605.0, "compute"),
                  point("attention 4k unfused", 61.0, 148.0, 928.0, "memory"),
                  point("decode 8k GQA 4:1", 4.0, 11.6, 11.6, "memory"),
                  point("softmax 4096²", 1.25, 3.9, 20.0, "memory"),
                  point("layernorm 4096²", 2.0, 6.1, 20.4, "memory"),
                  point("rmsnorm 4096²", 1.6, 4.9, 20.3, "memory"),
                  point("gelu(x + bias)", 2.2, 6.6, 20.5, "memory"),
                  point("copy 256 KiB", 0.25, 0.09, 3.1, "latency")};
    out.notes = {
        "An FMA counts as 2 FLOP. Ridge points divide the datasheet peak by the datasheet "
        "bandwidth."};
    return out;
}

Roofline comparison() {
    Roofline out = predictions();
    out.title = "H200 SXM: predicted and measured";
    out.subtitle =
        "Measured ceilings solid, datasheet dashed; lines join the two points of an operation";
    out.memory = {
        {.name = "DRAM", .value = "4.48 TB/s", .slope = 4.48, .evidence = Evidence::measured},
        {.name = "DRAM", .value = "4.8 TB/s", .slope = 4.8},
        {.name = "L2",
         .resource = Resource::l2,
         .value = "7.1 TB/s",
         .slope = 7.1,
         .evidence = Evidence::measured},
        {.name = "shared memory",
         .resource = Resource::shared,
         .value = "31.2 TB/s",
         .slope = 31.2,
         .evidence = Evidence::measured}};
    out.compute = {{.type = "bf16",
                    .name = "tensor",
                    .value = "803 TFLOP/s",
                    .rate = 803,
                    .evidence = Evidence::measured},
                   {.type = "bf16", .name = "tensor", .value = "989 TFLOP/s", .rate = 989.4},
                   {.type = "fp16", .name = "tensor", .value = "989 TFLOP/s", .rate = 989.4},
                   {.type = "fp32",
                    .name = "FMA",
                    .resource = Resource::fma,
                    .value = "61.0 TFLOP/s",
                    .rate = 61.0,
                    .evidence = Evidence::measured}};
    std::vector<OperationPoint> all;
    double offset = 0.72;
    for (const OperationPoint& predicted : out.points) {
        OperationPoint measured = predicted;
        measured.level = Resource::dram;
        measured.origin = Origin::measured;
        measured.y *= offset;
        measured.x *= 0.5 + offset / 2;
        measured.low = measured.y * 0.94;
        measured.high = measured.y * 1.05;
        offset = offset > 1.0 ? 0.7 : offset + 0.09;
        all.push_back(predicted);
        all.back().level = Resource::dram;
        all.push_back(measured);
    }
    out.points = all;
    return out;
}

Sweep sawtooth() {
    Sweep out;
    out.title = "matmul n × n × n on A100 SXM 80 GB, bf16";
    out.subtitle = "Predicted rate over the size, by alignment of n";
    out.x = {.title = "m = n = k"};
    out.y = {.title = "Performance", .unit = "TFLOP/s"};
    out.limits = {{.name = "bf16 tensor peak 312 TFLOP/s", .y = 312.0}};
    constexpr std::array<int, 4> alignments = {128, 64, 8, 1};
    constexpr std::array<double, 4> efficiency = {0.92, 0.86, 0.74, 0.45};
    for (std::size_t k = 0; k < alignments.size(); ++k) {
        Series series = {.name = "multiple of " + std::to_string(alignments[k])};
        if (alignments[k] == 1) series.name = "odd";
        const int count = k == 3 ? 114 : 112;
        for (int i = 0; i < count; ++i) {
            const double n = 256.0 + i * 70.0 + static_cast<double>(k) * 8.0;
            const double tiles = std::ceil(n / 128.0) * std::ceil(n / 256.0);
            const double waves = std::ceil(tiles / 108.0);
            const double rate = 312.0 * efficiency[k] * tiles / (waves * 108.0) * n / (n + 400.0);
            series.points.push_back(
                {.x = n, .y = rate, .terms = {{.name = "Waves", .value = number_text(waves)}}});
        }
        out.series.push_back(series);
    }
    return out;
}

Scatter accuracy() {
    Scatter out;
    out.title = "H200 SXM: predicted over measured time";
    out.subtitle = "300 records; the bands hold relative errors of 10 % and 20 %";
    out.x = {.title = "Measured time", .unit = "us"};
    // NOLINTNEXTLINE(cert-msc32-c,cert-msc51-cpp): the sample must not change
    std::mt19937 random(7);
    constexpr std::array<const char*, 5> names = {"matmul", "attention", "elementwise", "softmax",
                                                  "layernorm"};
    for (std::size_t k = 0; k < names.size(); ++k) {
        Series group = {.name = names.at(k),
                        .detail = "n = 60, median error " + std::to_string(4 + k) + " %"};
        group.origin = Origin::measured;
        for (int i = 0; i < 60; ++i) {
            const auto uniform = [&random] { return static_cast<double>(random() % 10000) / 1e4; };
            const double x = 3.0 * std::pow(10.0, 3.6 * uniform());
            const double y =
                (0.85 + 0.3 * (uniform() + uniform()) / 2.0 + 0.02 * static_cast<double>(k));
            group.points.push_back(
                {.x = x, .y = y, .name = std::string(names.at(k)) + " " + std::to_string(i)});
        }
        out.groups.push_back(group);
    }
    out.groups[0].points.push_back(
        {.x = 92.0, .y = 0.6, .name = "matmul 1793²×4096", .labelled = true});
    return out;
}

Sweep named(int count) {
    Sweep out;
    out.title = "matmul 8192 on several GPUs";
    out.subtitle = "predicted time with its 80 % band";
    out.y = {.title = "Time", .unit = "ms"};
    Series series = {.name = "bf16", .drawing = Drawing::scatter};
    for (int i = 1; i <= count; ++i) {
        out.x.names.push_back("graphics card " + std::to_string(i));
        series.points.push_back({.x = static_cast<double>(i),
                                 .y = 9.0 / i,
                                 .low = 8.0 / i,
                                 .high = 10.0 / i,
                                 .name = out.x.names.back()});
    }
    out.x.title = "GPU";
    out.x.low = 0.5;
    out.x.high = count + 0.5;
    out.series = {series};
    return out;
}

Roofline crowd() {
    Roofline out = comparison();
    out.title = "H200 SXM: a suite";
    out.points.clear();
    // NOLINTNEXTLINE(cert-msc32-c,cert-msc51-cpp): the sample must not change
    std::mt19937 random(11);
    const auto uniform = [&random] { return static_cast<double>(random() % 10000) / 1e4; };
    for (int i = 0; i < 150; ++i) {
        const double x = std::pow(10.0, 3.5 * uniform());
        const double time_us = std::pow(10.0, 4.0 * uniform());
        const double y = std::min(800.0, 4.0 * x) * std::pow(10.0, -0.6 * uniform());
        OperationPoint predicted =
            point("matmul bf16 library 4096x" + std::to_string(64 * i) + "x4096", x, y, time_us,
                  "memory");
        predicted.level = i % 5 == 0 ? Resource::l2 : Resource::dram;
        predicted.series = i % 3 == 0 ? "attention" : "matmul";
        out.points.push_back(predicted);
        predicted.origin = Origin::measured;
        predicted.x *= 0.95 + 0.1 * uniform();
        predicted.y *= 0.9 + 0.2 * uniform();
        out.points.push_back(predicted);
    }
    out.key_terms = {"time", "bound"};
    return out;
}

Roofline hostile() {
    Roofline out = predictions();
    out.title = "Roofs & \"walls\" <b>H100</b>";
    out.points = {point("<script>alert(1)</script>", 10.0, 20.0, 1.0, "</script><b>"),
                  point("a & b \"quoted\" 'single'", 100.0, 50.0, 1.0, "memory"),
                  point("größe 矩阵乘法 🚀", 3.0, 2.0, 1.0, "memory"),
                  point(std::string("bad \xff\xc3 utf8 \x01\n\x1b[31mred"), 500.0, 5.0, 1.0, "]]>"),
                  point(std::string(300, 'W'), 0.5, 0.5, 1.0, "memory")};
    return out;
}

std::vector<Chart> all_charts() {
    return {roofline_chart(predictions()),
            roofline_chart(comparison()),
            sweep_chart(sawtooth()),
            scatter_chart(accuracy()),
            roofline_chart(hostile()),
            roofline_chart(crowd()),
            sweep_chart(named(12)),
            roofline_chart({}),
            sweep_chart({}),
            scatter_chart({})};
}

}  // namespace ridge::plot::samples
