#include "model/core/data_type.h"

#include <string>
#include <utility>

#include "hardware/error.h"

namespace ridge::model {
namespace {

constexpr std::array<std::string_view, data_type_count> names{"fp64", "fp32", "tf32", "fp16",
                                                              "bf16", "fp8",  "int8", "int32"};

constexpr std::array<std::pair<std::string_view, DataType>, 8> aliases{
    {{"double", DataType::fp64},
     {"float", DataType::fp32},
     {"half", DataType::fp16},
     {"bfloat16", DataType::bf16},
     {"e4m3", DataType::fp8},
     {"e5m2", DataType::fp8},
     {"float16", DataType::fp16},
     {"float32", DataType::fp32}}};

}  // namespace

std::string_view name_of(DataType type) {
    return names[static_cast<std::size_t>(type)];
}

DataType parse_data_type(std::string_view text, std::string_view field) {
    for (const DataType type : all_data_types) {
        if (text == name_of(type)) return type;
    }
    for (const auto& [alias, type] : aliases) {
        if (text == alias) return type;
    }
    throw InputError(std::string(field) + ": unknown type '" + std::string(text) + "'", {},
                     "known types: fp64, fp32, tf32, fp16, bf16, fp8, int8, int32");
}

}  // namespace ridge::model
