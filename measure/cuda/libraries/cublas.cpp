// cuBLASLt; see cublas.h.
#include "measure/cuda/libraries/cublas.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "hardware/error.h"
#include "measure/cuda/libraries/shared_library.h"
#include "measure/cuda/memory/handles.h"

namespace ridge::measure::cuda {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

struct CublasLt {
    std::string path;
    cublasLtHandle_t handle = nullptr;
    decltype(&cublasLtCreate) create = nullptr;
    decltype(&cublasLtGetVersion) version = nullptr;
    decltype(&cublasLtMatmul) matmul = nullptr;
    decltype(&cublasLtMatmulDescCreate) description_create = nullptr;
    decltype(&cublasLtMatmulDescDestroy) description_destroy = nullptr;
    decltype(&cublasLtMatmulDescSetAttribute) description_set = nullptr;
    decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
    decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
    decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
    decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
    decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
    decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
    decltype(&cublasLtMatmulAlgoConfigGetAttribute) algorithm_get = nullptr;
};

Maybe<CublasLt> load() {
    const Maybe<SharedLibrary> opened =
        SharedLibrary::open({.label = "cuBLASLt",
                             .sonames = {"libcublasLt.so.13", "libcublasLt.so.12"},
                             .variable = "RIDGE_CUBLASLT_PATH",
                             .companions = {},
                             .remedy = "install the CUDA toolkit or the Python package "
                                       "nvidia-cublas"});
    if (const auto* missing = std::get_if<Unavailable>(&opened)) return *missing;
    const auto& library = std::get<SharedLibrary>(opened);
    CublasLt table;
    table.path = library.path();
    SymbolReader reader(library);
    reader.read("cublasLtCreate", table.create);
    reader.read("cublasLtGetVersion", table.version);
    reader.read("cublasLtMatmul", table.matmul);
    reader.read("cublasLtMatmulDescCreate", table.description_create);
    reader.read("cublasLtMatmulDescDestroy", table.description_destroy);
    reader.read("cublasLtMatmulDescSetAttribute", table.description_set);
    reader.read("cublasLtMatrixLayoutCreate", table.layout_create);
    reader.read("cublasLtMatrixLayoutDestroy", table.layout_destroy);
    reader.read("cublasLtMatrixLayoutSetAttribute", table.layout_set);
    reader.read("cublasLtMatmulPreferenceCreate", table.preference_create);
    reader.read("cublasLtMatmulPreferenceDestroy", table.preference_destroy);
    reader.read("cublasLtMatmulPreferenceSetAttribute", table.preference_set);
    reader.read("cublasLtMatmulAlgoGetHeuristic", table.heuristic);
    reader.read("cublasLtMatmulAlgoConfigGetAttribute", table.algorithm_get);
    if (!reader.missing().empty()) {
        return Unavailable{.reason = table.path + " lacks " + reader.missing(),
                           .remedy = "install cuBLAS of CUDA 12 or newer"};
    }
    if (const auto status = table.create(&table.handle); status != CUBLAS_STATUS_SUCCESS) {
        return Unavailable{.reason = "cublasLtCreate failed with " + std::to_string(status),
                           .remedy = "see ridge doctor"};
    }
    return table;
}

const Maybe<CublasLt>& cublas() {
    static const Maybe<CublasLt> loaded = load();
    return loaded;
}

const CublasLt& table_or_refuse() {
    const auto& found = cublas();
    if (const auto* missing = std::get_if<Unavailable>(&found)) {
        throw Refusal(missing->reason, missing->remedy);
    }
    return std::get<CublasLt>(found);
}

void require_status(cublasStatus_t status, const char* call) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) {
        throw Refusal(std::string("cuBLASLt does not support this product (") + call + ")");
    }
    throw DeviceError(call, static_cast<std::int64_t>(status), "cuBLASLt call failed");
}

cudaDataType_t cuda_type(StoredType type) {
    switch (type) {
        case StoredType::float64:
            return CUDA_R_64F;
        case StoredType::float32:
            return CUDA_R_32F;
        case StoredType::bfloat16:
            return CUDA_R_16BF;
        case StoredType::float16:
            return CUDA_R_16F;
        case StoredType::float8_e4m3:
            return CUDA_R_8F_E4M3;
        case StoredType::int8:
            return CUDA_R_8I;
        case StoredType::int32:
            return CUDA_R_32I;
        case StoredType::int64:
            break;
    }
    throw Refusal("cuBLASLt has no int64 matrices");
}

cudaDataType_t operand_type(model::DataType type) {
    switch (type) {
        case model::DataType::fp64:
            return CUDA_R_64F;
        case model::DataType::fp32:
        case model::DataType::tf32:
            return CUDA_R_32F;
        case model::DataType::fp16:
            return CUDA_R_16F;
        case model::DataType::bf16:
            return CUDA_R_16BF;
        case model::DataType::fp8:
            return CUDA_R_8F_E4M3;
        case model::DataType::int8:
            return CUDA_R_8I;
        case model::DataType::int32:
        case model::DataType::fp8_block:
        case model::DataType::nvfp4:
        case model::DataType::mxfp4:
        case model::DataType::mxfp8:
        case model::DataType::int4:
            break;
    }
    throw ContractViolation("unknown data type");
}

struct Arithmetic {
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
    cudaDataType_t scale = CUDA_R_32F;
};

Arithmetic arithmetic_of(const LibraryProduct& product) {
    switch (product.type) {
        case model::DataType::fp64:
            return {.compute = CUBLAS_COMPUTE_64F, .scale = CUDA_R_64F};
        case model::DataType::tf32:
            return {.compute = CUBLAS_COMPUTE_32F_FAST_TF32, .scale = CUDA_R_32F};
        case model::DataType::int8:
            return {.compute = CUBLAS_COMPUTE_32I,
                    .scale = product.output == StoredType::int32 ? CUDA_R_32I : CUDA_R_32F};
        case model::DataType::fp16:
            if (product.accumulate == model::DataType::fp16) {
                return {.compute = CUBLAS_COMPUTE_16F, .scale = CUDA_R_16F};
            }
            return {};
        default:
            return {};
    }
}

/// alpha or beta in the bits of the scale type.
std::array<std::byte, 8> scale_bits(double value, cudaDataType_t type) {
    std::array<std::byte, 8> bits{};
    const auto store = [&](auto typed) {
        static_assert(sizeof typed <= 8);
        std::copy_n(reinterpret_cast<const std::byte*>(&typed), sizeof typed, bits.data());
    };
    switch (type) {
        case CUDA_R_64F:
            store(value);
            break;
        case CUDA_R_32I:
            store(static_cast<std::int32_t>(value));
            break;
        case CUDA_R_16F:  // only 0 and 1 are used
            store(static_cast<std::uint16_t>(value == 0.0 ? 0x0000 : 0x3C00));
            break;
        default:
            store(static_cast<float>(value));
    }
    return bits;
}

/// The library's description of one product; lives as long as the launch that uses it.
struct Description {
    explicit Description(const CublasLt& library) : lt(&library) {}
    ~Description() {
        if (operation != nullptr) lt->description_destroy(operation);
        for (const cublasLtMatrixLayout_t layout : {first, second, added, result}) {
            if (layout != nullptr) lt->layout_destroy(layout);
        }
    }
    Description(const Description&) = delete;
    Description& operator=(const Description&) = delete;

    const CublasLt* lt;
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t first = nullptr;   // our B
    cublasLtMatrixLayout_t second = nullptr;  // our A
    cublasLtMatrixLayout_t added = nullptr;
    cublasLtMatrixLayout_t result = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    Buffer workspace;
    Buffer unit_scale;  // 1.0f, which fp8 needs as a device pointer
    std::array<std::byte, 8> alpha{};
    std::array<std::byte, 8> beta{};
};

template <class Value>
void set(const CublasLt& lt, cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t which,
         const Value& value) {
    require_status(lt.description_set(operation, which, &value, sizeof value),
                   "cublasLtMatmulDescSetAttribute");
}

cublasLtMatrixLayout_t layout(const CublasLt& lt, cudaDataType_t type, std::int64_t rows,
                              std::int64_t columns, std::int64_t batch) {
    cublasLtMatrixLayout_t made = nullptr;
    require_status(lt.layout_create(&made, type, static_cast<std::uint64_t>(rows),
                                    static_cast<std::uint64_t>(columns), rows),
                   "cublasLtMatrixLayoutCreate");
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t stride = rows * columns;
    lt.layout_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    lt.layout_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
    return made;
}

cublasLtEpilogue_t epilogue_of(model::Epilogue epilogue) {
    switch (epilogue) {
        case model::Epilogue::none:
        case model::Epilogue::accumulate:
            return CUBLASLT_EPILOGUE_DEFAULT;
        case model::Epilogue::bias:
            return CUBLASLT_EPILOGUE_BIAS;
        case model::Epilogue::bias_relu:
            return CUBLASLT_EPILOGUE_RELU_BIAS;
        case model::Epilogue::bias_gelu:
            return CUBLASLT_EPILOGUE_GELU_BIAS;
    }
    throw ContractViolation("unknown epilogue");
}

void describe_operation(const LibraryProduct& product, Description& description) {
    const CublasLt& lt = *description.lt;
    const Arithmetic arithmetic = arithmetic_of(product);
    require_status(
        lt.description_create(&description.operation, arithmetic.compute, arithmetic.scale),
        "cublasLtMatmulDescCreate");
    const auto first = product.b_layout == model::Layout::row_major ? CUBLAS_OP_N : CUBLAS_OP_T;
    const auto second = product.a_layout == model::Layout::row_major ? CUBLAS_OP_N : CUBLAS_OP_T;
    set(lt, description.operation, CUBLASLT_MATMUL_DESC_TRANSA, first);
    set(lt, description.operation, CUBLASLT_MATMUL_DESC_TRANSB, second);
    set(lt, description.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(product.epilogue));
    if (product.bias != nullptr) {
        set(lt, description.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
    }
    if (product.type == model::DataType::fp8) {
        const std::int8_t fast = 1;
        set(lt, description.operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
    }
    if (product.output == StoredType::float8_e4m3) {
        description.unit_scale = Buffer(sizeof(float));
        const float one = 1.0F;
        require(cudaMemcpy(description.unit_scale.as(), &one, sizeof one, cudaMemcpyHostToDevice),
                "cudaMemcpy");
        const void* const scale = description.unit_scale.as();
        set(lt, description.operation, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, scale);
    }
    description.alpha = scale_bits(product.alpha, arithmetic.scale);
    description.beta =
        scale_bits(product.epilogue == model::Epilogue::accumulate ? 1.0 : 0.0, arithmetic.scale);
}

void describe_matrices(const LibraryProduct& product, Description& description) {
    const CublasLt& lt = *description.lt;
    const cudaDataType_t operand = operand_type(product.type);
    const cudaDataType_t output = cuda_type(product.output);
    const auto shape = [](model::Layout order, std::int64_t rows, std::int64_t columns) {
        return order == model::Layout::row_major ? std::pair{columns, rows}
                                                 : std::pair{rows, columns};
    };
    const auto [b_rows, b_columns] = shape(product.b_layout, product.k, product.n);
    const auto [a_rows, a_columns] = shape(product.a_layout, product.m, product.k);
    description.first = layout(lt, operand, b_rows, b_columns, product.batch);
    description.second = layout(lt, operand, a_rows, a_columns, product.batch);
    // With an fp8 result, the addend is bf16.
    const cudaDataType_t addend = product.output == StoredType::float8_e4m3 ? CUDA_R_16BF : output;
    description.added = layout(lt, addend, product.n, product.m, product.batch);
    description.result = layout(lt, output, product.n, product.m, product.batch);
}

void choose_algorithm(const LibraryProduct& product, Description& description) {
    const CublasLt& lt = *description.lt;
    cublasLtMatmulPreference_t preference = nullptr;
    require_status(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>,
                          decltype(lt.preference_destroy)>
        owner(preference, lt.preference_destroy);
    lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                      sizeof workspace_bytes);
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    const cublasStatus_t status =
        lt.heuristic(lt.handle, description.operation, description.first, description.second,
                     description.added, description.result, preference, 1, &result, &found);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) {
        const bool row_major_b = product.b_layout == model::Layout::row_major;
        const bool one_byte =
            product.type == model::DataType::fp8 || product.type == model::DataType::int8;
        throw Refusal(
            "cuBLASLt has no algorithm for this product (status " + std::to_string(status) + ")",
            one_byte && row_major_b
                ? "one-byte types need a column-major B and sizes that are multiples of 16"
                : "");
    }
    description.algorithm = result.algo;
    description.workspace = Buffer(result.workspaceSize);
}

template <class Value>
Value attribute(const Description& description, cublasLtMatmulAlgoConfigAttributes_t which) {
    Value value{};
    std::size_t written = 0;
    require_status(description.lt->algorithm_get(&description.algorithm, which, &value,
                                                 sizeof value, &written),
                   "cublasLtMatmulAlgoConfigGetAttribute");
    return value;
}

std::int32_t rounded_sums(const Description& description) {
    const auto scheme =
        attribute<std::uint32_t>(description, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
    const bool rounds = scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE ||
                        scheme == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    if (!rounds) return 1;
    return std::max(1, attribute<std::int32_t>(description, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

}  // namespace

Maybe<std::string> library_description() {
    const auto& found = cublas();
    if (const auto* missing = std::get_if<Unavailable>(&found)) return *missing;
    const auto& table = std::get<CublasLt>(found);
    const std::size_t version = table.version();
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100) + ", " + table.path;
}

LibraryMatmul library_matmul(const LibraryProduct& product) {
    const auto description = std::make_shared<Description>(table_or_refuse());
    describe_operation(product, *description);
    describe_matrices(product, *description);
    choose_algorithm(product, *description);
    const void* const addend = product.c == nullptr ? product.d : product.c;
    Launch launch = [product, description, addend](cudaStream_t stream) {
        const CublasLt& lt = *description->lt;
        require_status(
            lt.matmul(lt.handle, description->operation, description->alpha.data(), product.b,
                      description->first, product.a, description->second, description->beta.data(),
                      addend, description->added, product.d, description->result,
                      &description->algorithm, description->workspace.as(),
                      description->workspace.bytes(), stream),
            "cublasLtMatmul");
    };
    return {.launch = std::move(launch), .rounded_sums = rounded_sums(*description)};
}

}  // namespace ridge::measure::cuda
