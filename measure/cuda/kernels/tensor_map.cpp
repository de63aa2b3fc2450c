// Implementation of tensor_map.h: validates the request, then calls the driver function found at
// run time.
#include "measure/cuda/kernels/tensor_map.h"

#include <cudaTypedefs.h>

#include <stdexcept>
#include <string>

namespace ridge::measure::cuda {
namespace {

PFN_cuTensorMapEncodeTiled_v12000 find_encoder() {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                           cudaEnableDefault, &found),
          "cudaGetDriverEntryPointByVersion(cuTensorMapEncodeTiled)");
    if (found != cudaDriverEntryPointSuccess || function == nullptr)
        throw std::runtime_error(
            "the driver has no cuTensorMapEncodeTiled: tensor maps need a driver for CUDA 12.0 or "
            "newer");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

CUtensorMapDataType data_type(const TensorMapRequest& request) {
    switch (request.type) {
        case ElementType::bfloat16:
            return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
        case ElementType::float16:
            return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
        default:
            throw std::runtime_error(
                std::string(request.name) +
                ": tensor maps only support bfloat16 or float16 elements here");
    }
}

}  // namespace

CUtensorMap encode_tensor_map(const TensorMapRequest& request) {
    static const auto encode = find_encoder();
    const std::string name = request.name;
    if (reinterpret_cast<std::uintptr_t>(request.base) % 16 != 0)
        throw std::runtime_error(name +
                                 ": the base address must be a multiple of 16 bytes for TMA");

    constexpr std::int64_t element_bytes = 2;
    std::array<cuuint64_t, 4> extents{};
    std::array<cuuint64_t, 3> strides{};
    for (std::size_t i = 0; i < 4; ++i) extents[i] = static_cast<cuuint64_t>(request.extents[i]);
    for (std::size_t i = 0; i < 3; ++i) {
        const std::int64_t bytes = request.strides[i] * element_bytes;
        if (bytes % 16 != 0)
            throw std::runtime_error(name + ": the stride of dimension " + std::to_string(i + 1) +
                                     " is " + std::to_string(bytes) +
                                     " bytes; TMA needs a multiple of 16 (pad the leading "
                                     "dimension to a multiple of 8 elements)");
        strides[i] = static_cast<cuuint64_t>(bytes == 0 ? 16 : bytes);
    }
    const std::array<cuuint32_t, 4> box{tensor_map_box_columns,
                                        static_cast<cuuint32_t>(request.box_rows), 1, 1};
    const std::array<cuuint32_t, 4> element_strides{1, 1, 1, 1};

    CUtensorMap map{};
    const CUresult result =
        encode(&map, data_type(request), 4, const_cast<void*>(request.base), extents.data(),
               strides.data(), box.data(), element_strides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
        throw std::runtime_error(name + ": cuTensorMapEncodeTiled refused the map, code " +
                                 std::to_string(result));
    return map;
}

}  // namespace ridge::measure::cuda
