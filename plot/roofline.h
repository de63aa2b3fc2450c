// A roofline: what the machine can attain at an arithmetic intensity, and where operations stand.
//
// Each memory level gives a slanted roof y = slope * x, each pipe a flat one. Where the emphasised
// memory roof meets the emphasised compute roof is the ridge point; left of it memory bounds, right
// of it compute. The attainable rate, the lower of those two roofs, is drawn thick.
//
//   roofline_chart({.title = "H100 SXM, bf16",
//                   .memory = {{.name = "DRAM", .value = "3.35 TB/s", .slope = 3.35}},
//                   .compute = {{.name = "bf16 tensor", .value = "989 TFLOP/s", .rate = 989.4}},
//                   .points = {{.name = "softmax", .x = 1.25, .y = 3.9}}})
//
// The slope is in the y axis's unit per unit of x: with TFLOP/s over FLOP/B it is TB/s. Memory
// roofs are drawn up to the highest compute roof of the same evidence, compute roofs from the
// fastest memory roof on. Points of one name, one predicted and one measured, are joined and share
// a label. Limits: both axes are logarithmic.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plot/chart.h"

namespace ridge::plot {

/// Measured roofs are solid lines, datasheet roofs dashed.
enum class Evidence { measured, datasheet };

struct MemoryRoof {
    std::string name = {};
    std::string value = {};  ///< the bandwidth as text
    double slope = 0.0;
    Evidence evidence = Evidence::datasheet;
    bool emphasised = false;
    std::vector<Term> terms = {};
};

struct ComputeRoof {
    std::string name = {};
    std::string value = {};  ///< the rate as text
    double rate = 0.0;
    Evidence evidence = Evidence::datasheet;
    bool emphasised = false;
    std::vector<Term> terms = {};
};

struct OperationPoint {
    std::string name = {};
    double x = 0.0;
    double y = 0.0;
    Origin origin = Origin::predicted;
    std::optional<double> low = {};
    std::optional<double> high = {};
    std::vector<Term> terms = {};
};

struct Roofline {
    std::string title = {};
    std::string subtitle = {};
    Axis x = {.title = "Arithmetic intensity",
              .unit = "FLOP/B",
              .scale = Scale::log,
              .low = {},
              .high = {}};
    Axis y = {
        .title = "Attainable rate", .unit = "TFLOP/s", .scale = Scale::log, .low = {}, .high = {}};
    std::vector<MemoryRoof> memory = {};
    std::vector<ComputeRoof> compute = {};
    std::vector<OperationPoint> points = {};
    std::vector<std::string> notes = {};
};

/// InputError when a roof is not positive and finite. Without an emphasised roof the slowest memory
/// and the fastest compute roof are it, measured ones before datasheet ones.
[[nodiscard]] Chart roofline_chart(const Roofline& roofline);

}  // namespace ridge::plot
