// A roofline: what the machine can attain at an arithmetic intensity, and where operations lie.
//
// Each memory level gives a slanted roof y = slope * x, each pipe a flat one. The emphasised memory
// roof meets the emphasised compute roof at the ridge point: left of it memory is the bound, right
// of it compute. The attainable performance, the lower of these two roofs, is drawn thick.
//
//   roofline_chart({.title = "H100 SXM",
//                   .memory = {{.name = "DRAM", .value = "3.35 TB/s", .slope = 3.35}},
//                   .compute = {{.type = "bf16", .name = "tensor",
//                                .value = "989 TFLOP/s", .rate = 989.4}},
//                   .points = {{.name = "softmax", .x = 1.25, .y = 3.9}}})
//
// The colour of a roof, and of a point at a memory level, is its resource. Dashes give the source:
// datasheet roofs are dashed, measured ones solid. The shape of a point is its class, its
// fill what it rests on (`Origin`).
//
// The slope is in the y axis's unit per unit of x: for TFLOP/s over FLOP/B it is TB/s. Memory roofs
// are drawn up to the highest compute roof of the same source, compute roofs from the fastest
// memory roof on. Types with the same compute roof share its line ("bf16, fp16 tensor"). A
// predicted and a measured point of the same name and level are joined and share a label. With more
// than `most_named` names, points are numbered and explained in a key, sorted by `order`. Limits:
// both axes are logarithmic.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plot/chart.h"

namespace ridge::plot {

/// The resource that a roof limits; each has one colour on every chart.
enum class Resource { dram, l2, shared, tensor, fma };

[[nodiscard]] Color color_of(Resource resource);
[[nodiscard]] std::string_view name_of(Resource resource);

/// Measured roofs are solid lines, datasheet roofs dashed.
enum class Evidence { measured, datasheet };

struct MemoryRoof {
    std::string name = {};
    Resource resource = Resource::dram;
    std::string value = {};  ///< the bandwidth as text
    double slope = 0.0;
    Evidence evidence = Evidence::datasheet;
    bool emphasised = false;
    std::vector<Term> terms = {};
};

struct ComputeRoof {
    std::string type = {};  ///< element type, written before the name: "bf16 tensor"
    std::string name = {};
    Resource resource = Resource::tensor;
    std::string value = {};  ///< the rate as text
    double rate = 0.0;
    Evidence evidence = Evidence::datasheet;
    bool emphasised = false;
    std::vector<Term> terms = {};
};

struct OperationPoint {
    std::string name = {};
    std::string series = {};  ///< class, such as the operation; sets the shape
    std::optional<Resource> level =
        {};  ///< level whose bytes give x; sets the colour; ink if absent
    double x = 0.0;
    double y = 0.0;
    Origin origin = Origin::predicted;
    std::optional<double> low = {};
    std::optional<double> high = {};
    double order = 0.0;  ///< sorts the key: the time
    std::optional<double> radius = {};
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
        .title = "Performance", .unit = "TFLOP/s", .scale = Scale::log, .low = {}, .high = {}};
    std::vector<MemoryRoof> memory = {};
    std::vector<ComputeRoof> compute = {};
    std::vector<OperationPoint> points = {};
    std::vector<std::string> key_terms = {};  ///< terms of the points that the key shows
    std::vector<std::string> notes = {};
};

/// InputError if a roof is not positive and finite. If no roof is emphasised, the slowest memory
/// roof and the fastest compute roof are, with measured roofs before datasheet ones.
[[nodiscard]] Chart roofline_chart(const Roofline& roofline);

}  // namespace ridge::plot
