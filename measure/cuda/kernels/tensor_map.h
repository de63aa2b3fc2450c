// Tensor maps: the descriptors from which the tensor memory accelerator (TMA) copies boxes of a
// global tensor to shared memory.
//
// Method: cuTensorMapEncodeTiled is looked up through the CUDA runtime, so nothing links against
// libcuda. All maps here use the 128-byte swizzle, which the tensor cores read without bank
// conflicts: the box is 64 two-byte elements wide.
//
//     const CUtensorMap a = encode_tensor_map({.base = a_pointer, .type = ElementType::bfloat16,
//                                              .extents = {k, m, 1, 1}, .strides = {k, m * k, 0},
//                                              .box_rows = 128});
//
// Limits: two-byte elements, up to four dimensions, contiguous innermost dimension. The base and
// all strides must be multiples of 16 bytes; otherwise std::runtime_error says which one is not.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

struct TensorMapRequest {
    const void* base = nullptr;
    ElementType type = ElementType::bfloat16;
    std::array<std::int64_t, 4> extents{1, 1, 1, 1};  // innermost first, in elements
    std::array<std::int64_t, 3> strides{
        0, 0, 0};       // of dimensions 1, 2, 3, in elements; 0 for a dimension of extent 1
    int box_rows = 64;  // rows of dimension 1 per copy, at most 256
    const char* name = "tensor";  // for error messages
};

// Elements of dimension 0 that one copy moves: the width of the 128-byte swizzle.
inline constexpr int tensor_map_box_columns = 64;

[[nodiscard]] CUtensorMap encode_tensor_map(const TensorMapRequest& request);

}  // namespace ridge::measure::cuda
