// Plans of copy, transpose and gather; see plan.h. Their results must be exact.
#include <algorithm>

#include "measure/cuda/kernels/gather.h"
#include "measure/cuda/kernels/stream.h"
#include "measure/cuda/kernels/transpose.h"
#include "measure/cuda/memory/verify.h"
#include "measure/cuda/plans/plan.h"

namespace ridge::measure::cuda {
namespace {

using model::Implementation;

constexpr std::int64_t window = 4096;
constexpr std::int64_t windows = 16;
constexpr double exact = 0.0;

struct Moved {
    const void* source = nullptr;
    void* destination = nullptr;
    StoredType type = StoredType::float32;
    std::int64_t elements = 0;
};

/// Runs and compares windows of the destination with the values of `expected(first, count)`.
template <class Expected>
std::function<Verification()> exact_check(const Moved& moved, const Launch& launch,
                                          cudaStream_t stream, Expected expected) {
    return [=] {
        poison(moved.destination, moved.type, moved.elements, stream);
        launch(stream);
        require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        Comparison comparison;
        for (const std::int64_t at : sampled(ceil_div(moved.elements, window), windows, 29)) {
            const std::int64_t first = at * window;
            const std::int64_t count = std::min(window, moved.elements - first);
            const std::vector<double> got =
                read_elements(moved.destination, moved.type, first, 1, count, stream);
            const std::vector<double> wanted = expected(first, count);
            for (std::size_t i = 0; i < got.size(); ++i) comparison.add(got[i], wanted[i]);
        }
        // int8 data may legitimately equal the poison value.
        const std::int64_t unwritten =
            moved.type == StoredType::int8
                ? 0
                : count_poisoned(moved.destination, moved.type, moved.elements, stream);
        return comparison.verdict(exact, unwritten);
    };
}

void* keep(Plan& plan, Buffer buffer) {
    plan.buffers.push_back(std::move(buffer));
    return plan.buffers.back().as();
}

}  // namespace

Plan plan_copy(const model::Copy& op, const model::Execution& execution, const Context& context) {
    if (execution.implementation != Implementation::bundled) {
        refuse(execution.implementation, "copy");
    }
    Plan plan;
    plan.implementation = execution.implementation;
    const ElementType type = element_of(op.type);
    const Moved moved{.source = keep(plan, context.input(type, op.elements, 1)),
                      .destination = keep(plan, Buffer(bytes_of(type, op.elements))),
                      .type = stored(type),
                      .elements = op.elements};
    plan.launch = launch_of(StreamCopy{.source = moved.source,
                                       .destination = moved.destination,
                                       .bytes = op.elements * bytes_per_element(type),
                                       .plan = copy_plan(context.limits().multiprocessors)});
    plan.verify =
        exact_check(moved, plan.launch, context.stream(),
                    [moved, stream = context.stream()](std::int64_t first, std::int64_t count) {
                        return read_elements(moved.source, moved.type, first, 1, count, stream);
                    });
    return plan;
}

Plan plan_transpose(const model::Transpose& op, const model::Execution& execution,
                    const Context& context) {
    Plan plan;
    plan.implementation = execution.implementation;
    const ElementType type = element_of(op.type);
    const std::int64_t elements = op.rows * op.cols;
    TransposeMethod method = bundled::tiled_transpose(op.rows, op.cols, bytes_per_element(type));
    if (execution.implementation == Implementation::naive) {
        method = TransposeMethod::naive;
    } else if (execution.implementation != Implementation::tiled) {
        refuse(execution.implementation, "transpose");
    }
    const Moved moved{.source = keep(plan, context.input(type, elements, 1)),
                      .destination = keep(plan, Buffer(bytes_of(type, elements))),
                      .type = stored(type),
                      .elements = elements};
    plan.launch = launch_of(Transpose{.source = moved.source,
                                      .destination = moved.destination,
                                      .rows = op.rows,
                                      .columns = op.cols,
                                      .element_bytes = bytes_per_element(type),
                                      .method = method});
    plan.verify =
        exact_check(moved, plan.launch, context.stream(),
                    [moved, op, stream = context.stream()](std::int64_t first, std::int64_t count) {
                        std::vector<double> wanted;
                        while (count > 0) {
                            const std::int64_t row = first % op.rows;  // of the source
                            const std::int64_t length = std::min(count, op.rows - row);
                            const auto part = read_elements(moved.source, moved.type,
                                                            row * op.cols + first / op.rows,
                                                            op.cols, length, stream);
                            wanted.insert(wanted.end(), part.begin(), part.end());
                            first += length;
                            count -= length;
                        }
                        return wanted;
                    });
    return plan;
}

Plan plan_gather(const model::Gather& op, const model::Execution& execution,
                 const Context& context) {
    if (execution.implementation != Implementation::bundled) {
        refuse(execution.implementation, "gather");
    }
    Plan plan;
    plan.implementation = execution.implementation;
    const ElementType type = element_of(op.type);
    const Moved moved{.source = keep(plan, context.input(type, op.table_rows * op.cols, 1)),
                      .destination = keep(plan, Buffer(bytes_of(type, op.rows * op.cols))),
                      .type = stored(type),
                      .elements = op.rows * op.cols};
    auto* const indices = static_cast<std::int64_t*>(
        keep(plan, Buffer(static_cast<std::size_t>(op.rows) * sizeof(std::int64_t))));
    fill_indices(indices, op.rows, op.table_rows, 2, context.stream());
    plan.launch = launch_of(EmbeddingGather{.table = moved.source,
                                            .indices = indices,
                                            .destination = moved.destination,
                                            .rows = op.rows,
                                            .row_bytes = op.cols * bytes_per_element(type)});
    plan.verify = exact_check(
        moved, plan.launch, context.stream(),
        [moved, op, indices, stream = context.stream()](std::int64_t first, std::int64_t count) {
            std::vector<double> wanted;
            const std::int64_t first_row = first / op.cols;
            const std::vector<double> rows =
                read_elements(indices, StoredType::int64, first_row, 1,
                              (first + count - 1) / op.cols - first_row + 1, stream);
            while (count > 0) {
                const std::int64_t column = first % op.cols;
                const std::int64_t length = std::min(count, op.cols - column);
                const auto row = static_cast<std::int64_t>(
                    rows[static_cast<std::size_t>(first / op.cols - first_row)]);
                const auto part = read_elements(moved.source, moved.type, row * op.cols + column, 1,
                                                length, stream);
                wanted.insert(wanted.end(), part.begin(), part.end());
                first += length;
                count -= length;
            }
            return wanted;
        });
    return plan;
}

}  // namespace ridge::measure::cuda
