// Pointwise kernels of PyTorch: vectors if tensors are plain, else (a tensor is broadcast or cast)
// a loop over single elements with index arithmetic (eq. B32).
#include <algorithm>
#include <cmath>

#include "model/streams/elementwise_work.h"
#include "model/streams/torch_kernel.h"
#include "model/streams/torch_time.h"

namespace ridge::model {
namespace {

/// Dependent clocks that a function adds to a thread; 0 for functions that cost nothing beside the
/// access.
double clocks_of(const FunctionCode& code, Function function) {
    switch (function) {
        case Function::cosine:
        case Function::sine:
        case Function::sigmoid:
        case Function::silu:
        case Function::logarithm:
            return code.series;
        case Function::gelu_erf:
        case Function::gelu_tanh:
        case Function::error_function:
        case Function::minimum:
        case Function::maximum:
            return code.rational;
        case Function::divide:
        case Function::power:
        case Function::square_root:
        case Function::tangent_hyperbolic:
            return code.iterated;
        case Function::add:
        case Function::subtract:
        case Function::reciprocal:
        case Function::reciprocal_square_root:
        case Function::exponential:
        case Function::exponential2:
            return code.single;
        default:
            return 0.0;
    }
}

bool is_error_function(Function function) {
    return function == Function::error_function || function == Function::gelu_erf;
}

/// The work of one kernel.
struct Pass {
    double elements;
    double element;      ///< bytes of an input's
    double result;       ///< bytes of a result's
    double clocks;       ///< of its functions
    ElementLoop loop{};  ///< the loop over single elements
    bool loops = false;  ///< whether it is such a loop
    double slots = 0.0;  ///< of an element, beside those of its functions
};

KernelTime pass_time(const MemoryParameters& memory, TorchKernel kernel, const Pass& pass) {
    if (!pass.loops) {
        kernel.chain = pass.clocks;
        const PointwiseCode& code = memory.torch->code.pointwise;
        kernel.slots = (code.function_slots * pass.clocks + pass.slots) * pass.elements;
        return torch_kernel_time(memory, kernel, free_running);
    }
    const double items = pass.element <= 2.0 || pass.result <= 2.0 ? 4.0 : 2.0;
    kernel = looping(memory, kernel, pass.loop, pass.elements, items,
                     pass.elements / items / pointwise_block_threads);
    kernel.chain += pass.clocks;
    return torch_kernel_time(memory, kernel, free_running);
}

/// Random numbers come in fours; elements are processed singly if their number is odd.
KernelTime dropout_time(const MemoryParameters& memory, TorchKernel kernel, std::int64_t elements) {
    const double odd = elements % 2 != 0 ? 1.0 : elements % 4 != 0 ? 0.5 : 0.0;
    const PointwiseCode& code = memory.torch->code.pointwise;
    kernel.chain = code.dropout_chain;
    kernel.slots = (code.dropout_slots + odd * code.dropout_odd) * static_cast<double>(elements);
    return torch_kernel_time(memory, kernel, reducing);
}

/// Casts from and to 16 bits use vectors if the source is fp32, else a loop.
bool casts_in_a_loop(const Elementwise& op) {
    return op.result() != op.type && size_of(op.type) < 4;
}

/// Adds one function as a separate kernel, which finds what earlier kernels left in the L2.
void add_step(const MemoryParameters& memory, const Elementwise& op, const KernelStep& step,
              DataType type, L2State l2, TorchTime& sum) {
    const auto elements = static_cast<double>(op.elements);
    const auto element = static_cast<double>(size_of(op.type));
    const Bytes tensor = elements * element * units::B;
    const Bytes result = elements * static_cast<double>(size_of(type)) * units::B;
    const Bytes mask = elements * units::B;
    const double tensors = op.expression.chain().tensors;
    double hits = 0.0;
    for (std::size_t i = 0; i < step.reads; ++i) {
        const bool found = l2 == L2State::warm || step.made[i];
        if (found) hits += memory.l2.found(step.distance[i] * tensor);
    }
    const bool fills = step.function == Function::masked_fill;
    const bool drops = step.function == Function::dropout;
    const auto inputs = static_cast<double>(step.reads) - (fills ? 1.0 : 0.0);
    const Bytes read = inputs * tensor + (fills ? mask : Bytes{});
    const Bytes write = result + (drops ? mask : Bytes{});
    const double missing = step.reads > 0 ? 1.0 - hits / static_cast<double>(step.reads) : 0.0;
    const TorchKernel kernel{.dram_read = missing * read,
                             .dram_write = memory.l2.written_back(write, tensors * tensor, l2),
                             .l2_read = read,
                             .l2_write = write,
                             .missing = missing};
    if (drops) {
        sum.add(dropout_time(memory, kernel, op.elements));
        return;
    }
    const TorchStreamCode& code = memory.torch->code;
    const Pass pass{.elements = elements,
                    .element = element,
                    .result = static_cast<double>(size_of(type)),
                    .clocks = clocks_of(code.functions, step.function),
                    .loop = step.vector ? code.broadcast : code.cast,
                    .loops = step.vector || (type != op.type && casts_in_a_loop(op)),
                    .slots = is_error_function(step.function) ? code.pointwise.erf_slots : 0.0};
    if (fills) sum.add(driver_copy_time(memory, tensor, l2));  // the copy is then filled in place
    sum.add(pass_time(memory, kernel, pass));
}

TorchTime forward(const MemoryParameters& memory, const Elementwise& op, L2State l2) {
    TorchTime sum;
    const auto& steps = op.expression.chain().steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].vector_result) {
            sum.add(torch_kernel_time(memory, {.missing = 0.0}, free_running));
            continue;
        }
        const DataType type = i + 1 == steps.size() ? op.result() : op.type;
        add_step(memory, op, steps[i], type, l2, sum);
    }
    return sum;
}

double clocks_of(const FunctionCode& code, const Expression& expression) {
    double sum = 0.0;
    for (const Node& node : expression.nodes()) {
        if (node.shape == InputShape::tensor) sum += clocks_of(code, node.function);
    }
    return sum;
}

}  // namespace

TorchTime torch_time(const MemoryParameters& memory, const Elementwise& op,
                     Implementation implementation, L2State l2) {
    const bool one = implementation == Implementation::compiled;
    if (!one && op.direction == Direction::forward) return forward(memory, op, l2);
    // Gradients and generated code: kernels that share the work evenly.
    const Work work = elementwise_work(op, implementation);
    const double kernels = work.kernels;
    const TorchStreamCode& all = memory.torch->code;
    const PointwiseCode& code = all.pointwise;
    const double clocks = clocks_of(all.functions, op.expression) / kernels;
    const bool vectors = op.expression.fused().vector_reads > 0;
    const Pass pass{
        .elements = static_cast<double>(op.elements),
        .element = static_cast<double>(size_of(op.type)),
        .result = static_cast<double>(size_of(op.result())),
        .clocks = one ? code.generated_share * clocks : clocks,
        .slots = (1.0 - (one ? code.generated_share : 1.0)) * code.function_slots * clocks +
                 (vectors ? code.generated_vector : 0.0)};
    TorchTime sum;
    sum.add(
        pass_time(memory, moving(memory, work.dram_read / kernels, work.dram_write / kernels, l2),
                  pass),
        work.kernels);
    return sum;
}

}  // namespace ridge::model
