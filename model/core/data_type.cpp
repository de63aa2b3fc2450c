#include "model/core/data_type.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "hardware/error.h"
#include "hardware/nearest.h"

namespace ridge::model {
namespace {

constexpr std::array<std::string_view, data_type_count> names{
    "fp64",  "fp32",      "tf32",  "fp16",  "bf16",  "fp8", "int8",
    "int32", "fp8_block", "nvfp4", "mxfp4", "mxfp8", "int4"};

constexpr std::array<std::pair<std::string_view, DataType>, 14> type_aliases{
    {{"double", DataType::fp64},
     {"float", DataType::fp32},
     {"half", DataType::fp16},
     {"bfloat16", DataType::bf16},
     {"e4m3", DataType::fp8},
     {"e5m2", DataType::fp8},
     {"float16", DataType::fp16},
     {"float32", DataType::fp32},
     {"float64", DataType::fp64},
     {"float8", DataType::fp8},
     {"f16", DataType::fp16},
     {"f32", DataType::fp32},
     {"f64", DataType::fp64},
     {"i8", DataType::int8}}};

}  // namespace

double scale_bytes(DataType type, double rows, double k, Operand operand) {
    constexpr double nvfp4_run = 16.0;
    constexpr double mx_run = 32.0;
    constexpr double square = 128.0;
    constexpr double fp32 = 4.0;
    if (type == DataType::nvfp4) return rows * std::ceil(k / nvfp4_run);
    if (type == DataType::mxfp4 || type == DataType::mxfp8) return rows * std::ceil(k / mx_run);
    if (type == DataType::int4) return 2.0 * rows * std::ceil(k / square);
    if (type != DataType::fp8_block) return 0.0;
    const double lines = operand == Operand::weights ? std::ceil(rows / square) : rows;
    return fp32 * lines * std::ceil(k / square);
}

std::string_view name_of(DataType type) {
    return names[static_cast<std::size_t>(type)];
}

std::string_view rate_name(DataType type) {
    switch (type) {
        case DataType::fp8_block:
        case DataType::mxfp8:
            return "fp8";
        case DataType::nvfp4:
        case DataType::mxfp4:
            return "fp4";
        default:
            return name_of(type);
    }
}

DataType parse_data_type(std::string_view text, std::string_view field) {
    for (const DataType type : all_data_types) {
        if (same_word(text, name_of(type))) return type;
    }
    std::vector<std::string> known;
    for (const auto& [alias, type] : type_aliases) {
        if (same_word(text, alias)) return type;
        known.emplace_back(alias);
    }
    known.insert(known.begin(), names.begin(), names.end());
    const std::string near = did_you_mean(text, known);
    throw InputError(
        std::string(field) + ": unknown type '" + std::string(text) + "'", {},
        near.empty()
            ? "known types: fp64, fp32, tf32, fp16, bf16, fp8, int8, int32, fp8_block, nvfp4, "
              "mxfp4, mxfp8, int4"
            : near);
}

}  // namespace ridge::model
