// Element types of tensors.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "hardware/quantity.h"

namespace ridge::model {

/// fp8 is e4m3 or e5m2 (the cost is the same); tf32 is stored in 4 bytes; int32 is what products of
/// int8 may be stored as, and no operand of anything.
enum class DataType : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int8, int32 };

inline constexpr std::array all_data_types{DataType::fp64, DataType::fp32, DataType::tf32,
                                           DataType::fp16, DataType::bf16, DataType::fp8,
                                           DataType::int8, DataType::int32};
inline constexpr std::size_t data_type_count = all_data_types.size();

/// Bytes of one element in memory.
[[nodiscard]] constexpr std::int64_t size_of(DataType type) {
    switch (type) {
        case DataType::fp64:
            return 8;
        case DataType::fp32:
        case DataType::tf32:
        case DataType::int32:
            return 4;
        case DataType::fp16:
        case DataType::bf16:
            return 2;
        case DataType::fp8:
        case DataType::int8:
            return 1;
    }
    return 0;
}

/// "bf16" and so on, as the command line writes it.
[[nodiscard]] std::string_view name_of(DataType type);

/// The inverse of name_of; also takes the aliases half, float, double, e4m3, e5m2. InputError
/// names `field` and the known types.
[[nodiscard]] DataType parse_data_type(std::string_view text, std::string_view field);

}  // namespace ridge::model
