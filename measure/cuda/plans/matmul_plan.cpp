// Plans of matrix products: the bundled kernels and cuBLASLt; see plan.h.
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>

#include "hardware/error.h"
#include "measure/cuda/kernels/matmul.h"
#include "measure/cuda/libraries/cublas.h"
#include "measure/cuda/memory/verify.h"
#include "measure/cuda/plans/plan.h"
#include "model/matmul/tiles.h"

namespace ridge::measure::cuda {
namespace {

using model::Implementation;
using model::Layout;

constexpr std::int64_t sampled_lines = 24;  // this many rows and this many columns
constexpr std::int64_t whole_up_to =
    64;  // rows and columns of a product that is checked completely
constexpr double largest_fp8 = 448.0;
constexpr float int8_deviation = 32.0F;

StoredType output_of(const model::Matmul& op) {
    if (op.type == model::DataType::int8 && op.output != model::DataType::int8) {
        return StoredType::int32;
    }
    return stored(element_of(op.output));
}

double alpha_of(const model::Matmul& op) {
    // Keeps int8 results of random int8 operands inside int8.
    if (output_of(op) != StoredType::int8) return 1.0;
    return 0.5 / (static_cast<double>(int8_deviation) * std::sqrt(static_cast<double>(op.k)));
}

double tolerance_of(const model::Matmul& op) {
    const double rounding = rounding_tolerance(output_of(op));
    switch (op.type) {
        case model::DataType::fp64:
            return 1e-12;
        case model::DataType::tf32:
            return std::max(rounding, 1e-3);
        case model::DataType::fp16:
            return op.accumulate == model::DataType::fp16 ? 2e-2 : std::max(rounding, 1e-5);
        case model::DataType::fp8:
            return std::max(rounding, 1e-2);
        case model::DataType::int8:
            return output_of(op) == StoredType::int8 ? 5e-2 : rounding;
        default:
            return rounding;
    }
}

/// Accounts for sums that a library keeps in the output type between the parts of k. Each is
/// rounded; the errors of sums of 1 to n of n equal parts add up to sqrt((n + 1) / 2) times that of
/// the last one.
double tolerance_of(const model::Matmul& op, std::int32_t rounded_sums) {
    return tolerance_of(op) * std::sqrt((rounded_sums + 1.0) / 2.0);
}

double epilogue_value(const model::Matmul& op, double product, double extra) {
    const double sum = product + extra;
    switch (op.epilogue) {
        case model::Epilogue::none:
            return product;
        case model::Epilogue::bias:
        case model::Epilogue::accumulate:
            return sum;
        case model::Epilogue::bias_relu:
            return std::max(sum, 0.0);
        case model::Epilogue::bias_gelu: {
            const double inner =
                std::sqrt(2.0 / 3.14159265358979323846) * (sum + 0.044715 * sum * sum * sum);
            return 0.5 * sum * (1.0 + std::tanh(inner));
        }
    }
    throw ContractViolation("unknown epilogue");
}

double stored_value(double value, StoredType type) {
    if (type == StoredType::int8) return std::clamp(std::nearbyint(value), -128.0, 127.0);
    if (type == StoredType::float8_e4m3) return std::clamp(value, -largest_fp8, largest_fp8);
    return value;
}

struct Operands {
    const void* a = nullptr;
    const void* b = nullptr;
    const void* c = nullptr;  ///< addend
    const void* bias = nullptr;
    void* d = nullptr;
};

/// Checks C[rows, columns] of one product of the batch.
class ProductCheck {
  public:
    ProductCheck(const model::Matmul& op, const Operands& at, cudaStream_t stream)
        : op_(op), at_(at), stream_(stream) {}

    void check(std::int64_t batch, Comparison& comparison) const {
        const bool whole = op_.m <= whole_up_to && op_.n <= whole_up_to;
        const std::int64_t lines = whole ? whole_up_to : sampled_lines;
        const auto rows = sampled(op_.m, lines, 17 + static_cast<std::uint64_t>(batch));
        const auto columns = sampled(op_.n, lines, 91 + static_cast<std::uint64_t>(batch));
        const Eigen::MatrixXd product = lines_of_a(batch, rows) * lines_of_b(batch, columns);
        const auto bias = at_.bias == nullptr
                              ? std::vector<double>()
                              : read_elements(at_.bias, bias_type(), 0, 1, op_.n, stream_);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::int64_t first = (batch * op_.m + rows[i]) * op_.n;
            const auto got = read_elements(at_.d, output_of(op_), first, 1, op_.n, stream_);
            const auto added = at_.c == nullptr
                                   ? std::vector<double>()
                                   : read_elements(at_.c, output_of(op_), first, 1, op_.n, stream_);
            for (std::size_t j = 0; j < columns.size(); ++j) {
                const auto column = static_cast<std::size_t>(columns[j]);
                const double extra = !bias.empty()    ? bias[column]
                                     : !added.empty() ? added[column]
                                                      : 0.0;
                const double exact = alpha_of(op_) * product(static_cast<Eigen::Index>(i),
                                                             static_cast<Eigen::Index>(j));
                comparison.add(got[column],
                               stored_value(epilogue_value(op_, exact, extra), output_of(op_)));
            }
        }
    }

    [[nodiscard]] StoredType bias_type() const {
        return output_of(op_) == StoredType::float8_e4m3 ? StoredType::bfloat16 : output_of(op_);
    }

  private:
    [[nodiscard]] Eigen::MatrixXd lines_of_a(std::int64_t batch,
                                             const std::vector<std::int64_t>& rows) const {
        Eigen::MatrixXd lines(static_cast<Eigen::Index>(rows.size()), op_.k);
        const bool row_major = op_.a_layout == Layout::row_major;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::int64_t first =
                batch * op_.m * op_.k + (row_major ? rows[i] * op_.k : rows[i]);
            const auto values = read_elements(at_.a, stored(element_of(op_.type)), first,
                                              row_major ? 1 : op_.m, op_.k, stream_);
            lines.row(static_cast<Eigen::Index>(i)) =
                Eigen::Map<const Eigen::RowVectorXd>(values.data(), op_.k);
        }
        return lines;
    }

    [[nodiscard]] Eigen::MatrixXd lines_of_b(std::int64_t batch,
                                             const std::vector<std::int64_t>& columns) const {
        Eigen::MatrixXd lines(op_.k, static_cast<Eigen::Index>(columns.size()));
        const bool row_major = op_.b_layout == Layout::row_major;
        for (std::size_t j = 0; j < columns.size(); ++j) {
            const std::int64_t first =
                batch * op_.n * op_.k + (row_major ? columns[j] : columns[j] * op_.k);
            const auto values = read_elements(at_.b, stored(element_of(op_.type)), first,
                                              row_major ? op_.n : 1, op_.k, stream_);
            lines.col(static_cast<Eigen::Index>(j)) =
                Eigen::Map<const Eigen::VectorXd>(values.data(), op_.k);
        }
        return lines;
    }

    model::Matmul op_;
    Operands at_;
    cudaStream_t stream_;
};

std::function<Verification()> verifier(const model::Matmul& op, const Operands& at,
                                       const Launch& launch, std::int32_t rounded_sums,
                                       cudaStream_t stream) {
    return [=] {
        const std::int64_t elements = op.batch * op.m * op.n;
        poison(at.d, output_of(op), elements, stream);
        launch(stream);
        require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        Comparison comparison;
        const ProductCheck product(op, at, stream);
        for (const std::int64_t batch : sampled(op.batch, 2, 5)) product.check(batch, comparison);
        // An int8 result may legitimately equal the poison value.
        const std::int64_t unwritten = output_of(op) == StoredType::int8
                                           ? 0
                                           : count_poisoned(at.d, output_of(op), elements, stream);
        return comparison.verdict(tolerance_of(op, rounded_sums), unwritten);
    };
}

MatmulProblem bundled_problem(const model::Matmul& op, const Operands& at) {
    if (op.a_layout != Layout::row_major) {
        throw Refusal("the bundled kernels need a row-major A", "use impl=library");
    }
    if (op.epilogue != model::Epilogue::none) {
        throw Refusal("the bundled kernels have no epilogue", "use impl=library");
    }
    if (op.output != op.type) {
        throw Refusal("the bundled kernels write the type that they read", "use impl=library");
    }
    if (op.accumulate != model::DataType::fp32) {
        throw Refusal("the bundled kernels can only accumulate in fp32", "use impl=library");
    }
    return {.a = at.a,
            .b = at.b,
            .c = at.d,
            .m = op.m,
            .n = op.n,
            .k = op.k,
            .batch = op.batch,
            .type = element_of(op.type),
            .b_layout = op.b_layout == Layout::row_major ? BLayout::k_by_n : BLayout::n_by_k};
}

/// The requested tile, otherwise the kernel's own choice.
bundled::MatmulKernel wgmma_kernel(const MatmulProblem& problem, const model::Execution& execution,
                                   const Context& context) {
    if (!execution.tile) {
        return bundled::wgmma_for(extents_of(problem), context.limits().multiprocessors);
    }
    for (const auto& kernel : {bundled::matmul_wgmma_large, bundled::matmul_wgmma_small}) {
        if (execution.tile->m == kernel.tile.m && execution.tile->n == kernel.tile.n) return kernel;
    }
    throw Refusal("the wgmma kernel only has tiles of 128x256 and 128x128");
}

void bundle(const MatmulProblem& problem, const model::Execution& execution, const Context& context,
            Plan& plan) {
    const auto kernel = model::bundled_kernel(execution.implementation);
    if (!kernel) refuse(execution.implementation, "matmul");
    plan.tile = kernel->layout.tile;
    switch (execution.implementation) {
        case Implementation::naive:
            plan.launch = matmul_naive(problem);
            return;
        case Implementation::coalesced:
            plan.launch = matmul_coalesced(problem);
            return;
        case Implementation::tiled:
            plan.launch = matmul_shared_tiled(problem);
            return;
        case Implementation::register_tiled:
            plan.launch = matmul_register_tiled(problem);
            return;
        case Implementation::mma:
            plan.launch = matmul_mma_sync(problem);
            return;
        case Implementation::wgmma: {
            const bundled::MatmulKernel wgmma = wgmma_kernel(problem, execution, context);
            plan.launch = matmul_wgmma(problem, wgmma);
            plan.tile = wgmma.tile;
            return;
        }
        default:
            refuse(execution.implementation, "matmul");
    }
}

LibraryProduct library_product(const model::Matmul& op, const Operands& at) {
    return {.a = at.a,
            .b = at.b,
            .c = at.c,
            .d = at.d,
            .bias = at.bias,
            .batch = op.batch,
            .m = op.m,
            .n = op.n,
            .k = op.k,
            .type = op.type,
            .accumulate = op.accumulate,
            .output = output_of(op),
            .a_layout = op.a_layout,
            .b_layout = op.b_layout,
            .epilogue = op.epilogue,
            .alpha = alpha_of(op)};
}

ElementType bias_element(const model::Matmul& op) {
    return op.output == model::DataType::fp8 ? ElementType::bfloat16 : element_of(op.output);
}

}  // namespace

Plan plan_matmul(const model::Matmul& op, const model::Execution& execution,
                 const Context& context) {
    Plan plan;
    plan.implementation = execution.implementation;
    const ElementType type = element_of(op.type);
    const float scale = op.type == model::DataType::int8 ? int8_deviation : 1.0F;
    const std::int64_t results = op.batch * op.m * op.n;
    Operands at;
    const auto keep = [&plan](Buffer buffer) {
        plan.buffers.push_back(std::move(buffer));
        return plan.buffers.back().as();
    };
    at.a = keep(context.input(type, op.batch * op.m * op.k, 1, scale));
    at.b = keep(context.input(type, op.batch * op.n * op.k, 2, scale));
    at.d = keep(Buffer(static_cast<std::size_t>(results) *
                       static_cast<std::size_t>(bytes_of(output_of(op)))));
    if (op.epilogue == model::Epilogue::accumulate) {
        if (output_of(op) == StoredType::int32 || op.output == model::DataType::fp8) {
            throw Refusal("accumulating into int32 or fp8 results is not supported");
        }
        at.c = keep(context.input(element_of(op.output), results, 3));
    } else if (op.epilogue != model::Epilogue::none) {
        at.bias = keep(context.input(bias_element(op), op.n, 4));
    }
    std::int32_t rounded_sums = 1;
    if (execution.implementation == Implementation::library) {
        if (execution.tile) throw Refusal("the library chooses its own tiles");
        LibraryMatmul product = library_matmul(library_product(op, at));
        plan.launch = std::move(product.launch);
        rounded_sums = product.rounded_sums;
    } else {
        bundle(bundled_problem(op, at), execution, context, plan);
    }
    plan.verify = verifier(op, at, plan.launch, rounded_sums, context.stream());
    return plan;
}

}  // namespace ridge::measure::cuda
