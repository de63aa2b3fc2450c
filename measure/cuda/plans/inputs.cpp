// Inputs and small parts that all plans share; see plan.h.
#include <algorithm>

#include "hardware/error.h"
#include "measure/cuda/kernels/fill.h"
#include "measure/cuda/plans/plan.h"

namespace ridge::measure::cuda {

Buffer Context::input(ElementType type, std::int64_t elements, std::uint64_t seed,
                      float scale) const {
    Buffer buffer(bytes_of(type, elements));
    const FillPattern pattern = pattern_ == DataPattern::normal    ? FillPattern::normal
                                : pattern_ == DataPattern::uniform ? FillPattern::uniform
                                                                   : FillPattern::constant;
    launch_of(Fill{.destination = buffer.as(),
                   .elements = elements,
                   .type = type,
                   .pattern = pattern,
                   .scale = pattern_ == DataPattern::zeros ? 0.0F : scale,
                   .seed = seed})(stream_);
    return buffer;
}

std::size_t Plan::bytes() const {
    std::size_t total = 0;
    for (const Buffer& buffer : buffers) total += buffer.bytes();
    return total;
}

ElementType element_of(model::DataType type) {
    switch (type) {
        case model::DataType::fp64:
            return ElementType::float64;
        case model::DataType::fp32:
            return ElementType::float32;
        case model::DataType::tf32:
            return ElementType::tfloat32;
        case model::DataType::fp16:
            return ElementType::float16;
        case model::DataType::bf16:
            return ElementType::bfloat16;
        case model::DataType::fp8:
            return ElementType::float8_e4m3;
        case model::DataType::int8:
            return ElementType::int8;
        case model::DataType::int32:
            throw Refusal("int32 can only be a type of results");
        case model::DataType::fp8_block:
        case model::DataType::nvfp4:
        case model::DataType::mxfp4:
        case model::DataType::mxfp8:
        case model::DataType::int4:
            throw Refusal("no kernel with block-scaled operands can be measured");
    }
    throw ContractViolation("unknown data type");
}

std::size_t bytes_of(ElementType type, std::int64_t elements) {
    const auto bytes =
        static_cast<std::size_t>(elements) * static_cast<std::size_t>(bytes_per_element(type));
    return std::max<std::size_t>(bytes, 16);
}

void refuse(model::Implementation implementation, const char* operation) {
    throw Refusal("impl " + std::string(model::name_of(implementation)) +
                  " is not a bundled implementation of " + operation);
}

}  // namespace ridge::measure::cuda
