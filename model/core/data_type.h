// Element types of tensors and the bytes that they take in memory.
//
//   size_of(DataType::bf16)                        // 2
//   operand_bytes(DataType::nvfp4, 1, 4096)        // 2304: 4 bits each, and a scale byte per 16
//
// Method: docs/model.md M24. Block-scaled types keep one scale per block of elements along k. Only
// operands of products have such a type; every other tensor has a type of whole bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "hardware/checked.h"
#include "hardware/error.h"
#include "hardware/quantity.h"

namespace ridge::model {

/// fp8 is e4m3 or e5m2 (both cost the same). tf32 is stored in 4 bytes. int32 is a type for results
/// of int8 products, never for an operand. fp8_block is e4m3 with an fp32 scale per 128 elements
/// along k (activations) or per 128 x 128 (weights), as in DeepSeek-V3. nvfp4 is e2m1 with an e4m3
/// scale per 16 elements along k; mxfp4 and mxfp8 are e2m1 and e4m3 with an 8-bit exponent per 32
/// (OCP microscaling formats). int4 is for weights, with a 16-bit scale per 128 (GPTQ, AWQ).
enum class DataType : std::uint8_t {
    fp64,
    fp32,
    tf32,
    fp16,
    bf16,
    fp8,
    int8,
    int32,
    fp8_block,
    nvfp4,
    mxfp4,
    mxfp8,
    int4
};

inline constexpr std::array all_data_types{
    DataType::fp64,  DataType::fp32,  DataType::tf32,  DataType::fp16,      DataType::bf16,
    DataType::fp8,   DataType::int8,  DataType::int32, DataType::fp8_block, DataType::nvfp4,
    DataType::mxfp4, DataType::mxfp8, DataType::int4};
inline constexpr std::size_t data_type_count = all_data_types.size();

/// Bits of one element in memory, without its share of a scale.
[[nodiscard]] constexpr std::int64_t bits_of(DataType type) {
    switch (type) {
        case DataType::fp64:
            return 64;
        case DataType::fp32:
        case DataType::tf32:
        case DataType::int32:
            return 32;
        case DataType::fp16:
        case DataType::bf16:
            return 16;
        case DataType::fp8:
        case DataType::int8:
        case DataType::fp8_block:
        case DataType::mxfp8:
            return 8;
        case DataType::nvfp4:
        case DataType::mxfp4:
        case DataType::int4:
            return 4;
    }
    return 0;
}

/// Whether blocks of elements share a scale. Only operands of products have such a type.
[[nodiscard]] constexpr bool is_block_scaled(DataType type) {
    return type == DataType::fp8_block || type == DataType::nvfp4 || type == DataType::mxfp4 ||
           type == DataType::mxfp8 || type == DataType::int4;
}

/// Bytes of one element of a type that fills whole bytes (every type but those of 4 bits).
[[nodiscard]] constexpr std::int64_t size_of(DataType type) {
    RIDGE_CONTRACT(bits_of(type) >= 8);
    return bits_of(type) / 8;
}

/// Bytes of `count` elements without scales, rounded to whole bytes.
[[nodiscard]] constexpr std::int64_t bytes_of(DataType type, std::int64_t count) {
    return ceil_divide(count * bits_of(type), 8);
}

/// The role of an operand of a product: activations have scales per row, weights per square.
enum class Operand : std::uint8_t { activations, weights };

/// Bytes of the scales of an operand.
[[nodiscard]] double scale_bytes(DataType type, double rows, double k, Operand operand);

/// Bytes of an operand of `rows` rows of `k` elements, including its scales. (M24)
[[nodiscard]] inline double operand_bytes(DataType type, double rows, double k,
                                          Operand operand = Operand::activations) {
    const double bytes = rows * k * (static_cast<double>(bits_of(type)) / 8.0);
    return is_block_scaled(type) ? bytes + scale_bytes(type, rows, k, operand) : bytes;
}

/// The name on the command line: "bf16" and so on.
[[nodiscard]] std::string_view name_of(DataType type);
/// The name under which descriptions quote the rate of a type's products: "fp8" for fp8_block,
/// "fp4" for nvfp4, else the type's own name.
[[nodiscard]] std::string_view rate_name(DataType type);

/// The inverse of name_of; also takes the aliases half, float, double, e4m3, e5m2. Throws an
/// InputError that names `field` and the known types.
[[nodiscard]] DataType parse_data_type(std::string_view text, std::string_view field);

}  // namespace ridge::model
