#include "model/compiled_product.h"

#include <algorithm>
#include <string_view>

#include "hardware/checked.h"
#include "model/core/real.h"
#include "model/matmul/predict.h"

namespace ridge::model {
namespace {

/// Inductor pads rows of its own results that are longer than this to whole lines
/// (torch/_inductor/config.py: padding_stride_threshold, padding_alignment_bytes).
constexpr std::int64_t longest_unpadded_row = 1024;
constexpr std::int64_t padded_row_bytes = 128;

/// FLOP/2 per element of operands and result (torch/_inductor/fx_passes/pad_mm.py:
/// is_mm_compute_bound).
constexpr double least_intensity = 100.0;
constexpr std::int64_t vector_bytes = 16;

/// Whether rows of the result have gaps between them, over which addmm does not spread a bias
/// itself.
bool has_padded_rows(const Matmul& op) {
    return op.m > 1 && op.n > longest_unpadded_row &&
           op.n * size_of(op.output) % padded_row_bytes != 0;
}

std::string_view activation(const Matmul& op, bool adds_bias) {
    if (op.epilogue == Epilogue::bias_relu) return adds_bias ? "relu(x + bias)" : "relu(x)";
    return adds_bias ? "gelu_tanh(x + bias)" : "gelu_tanh(x)";
}

Elementwise over_result(const Matmul& op, std::string_view expression) {
    return {.expression = parse_expression(expression),
            .elements = op.batch * op.m * op.n,
            .type = op.output};
}

Elementwise copied(const Matmul& op, std::int64_t rows, std::int64_t columns) {
    return {.expression = parse_expression("x"),
            .elements = op.batch * rows * columns,
            .type = op.type};
}

/// Rounds extents whose rows are not multiples of 16 bytes up to such multiples.
void pad(Matmul& op, const Execution& execution, Workload& kernels) {
    const std::int64_t vector = vector_bytes * 8 / bits_of(op.type);
    const bool by_rows = op.b_layout == Layout::row_major;
    const bool k_odd = op.k % vector != 0;
    const bool n_odd = by_rows && op.n % vector != 0;
    if (bits_of(op.type) < 16 || !(k_odd || n_odd) || !is_worth_padding(op.m, op.n, op.k)) return;
    if (k_odd) op.k = ceil_divide(op.k, vector) * vector;
    if (n_odd) op.n = ceil_divide(op.n, vector) * vector;
    Execution copying = execution;
    copying.implementation = Implementation::compiled;
    if (k_odd) kernels.push_back({.operation = copied(op, op.m, op.k), .execution = copying});
    kernels.push_back({.operation = copied(op, op.k, op.n), .execution = copying});
}

/// A kernel over what the previous one left in the L2.
Execution over_warm(const Execution& asked, Implementation implementation) {
    return {.implementation = implementation, .l2 = L2State::warm, .launch = asked.launch};
}

Execution eager(Execution asked) {
    asked.implementation = Implementation::torch;
    return asked;
}

void add_terms(Prediction& whole, const Prediction& part) {
    for (const Term& term : part.terms) {
        const auto same =
            std::find_if(whole.terms.begin(), whole.terms.end(),
                         [&](const Term& each) { return each.resource == term.resource; });
        if (same == whole.terms.end()) {
            add_term(whole, term.resource, term.time, term.amount);
        } else {
            same->time += term.time;
            same->amount += term.amount;
        }
    }
}

/// Sums bytes, kernels and times over the kernels; the counts are those of the product asked for,
/// tiles and notes those of the product's kernel.
void set_sum(Prediction& whole, const Workload& kernels, const WorkloadPrediction& sum) {
    Time analytic;
    whole.terms = {};
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const auto& part = std::get<Prediction>(sum.parts[i]);
        analytic += part.time / part.correction;
        add_terms(whole, part);
        if (!std::holds_alternative<Matmul>(kernels[i].operation)) continue;
        whole.tiling = part.tiling;
        whole.executed_tensor = part.executed_tensor;
        whole.executed_fma = part.executed_fma;
        whole.evidence = part.evidence;
        whole.band_class = part.band_class;
        whole.notes = part.notes;
    }
    whole.work.dram_read = sum.work.dram_read;
    whole.work.dram_write = sum.work.dram_write;
    whole.work.l2 = sum.work.l2;
    whole.work.kernels = sum.work.kernels;
    whole.time = sum.time;
    whole.low = std::max(sum.low, whole.lower_bound);
    whole.high = sum.high;
    whole.correction = whole.time / analytic;
}

void note_kernels(Prediction& whole, const Workload& kernels, const WorkloadPrediction& sum) {
    Time padding;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const Time time = std::get<Prediction>(sum.parts[i]).time;
        if (std::holds_alternative<Matmul>(kernels[i].operation)) {
            whole.note(note::ProductAlone{.time = time});
        } else if (kernels[i].execution.implementation == Implementation::torch) {
            whole.note(note::BiasSpread{.time = time});
        } else if (i + 1 < kernels.size()) {
            padding += time;
        } else {
            whole.note(note::PointwiseAfter{.time = time});
        }
    }
    if (padding > Time{}) whole.note(note::PaddedOperands{.time = padding});
}

}  // namespace

bool is_worth_padding(std::int64_t rows, std::int64_t columns, std::int64_t inputs) {
    const double m = real(rows);
    const double n = real(columns);
    const double k = real(inputs);
    return m * n * k >= least_intensity * (m * k + k * n + m * n);
}

Workload compiled_product(const Matmul& op, const Execution& execution) {
    Matmul product = op;
    const bool activated = is_activated(op.epilogue);
    const bool separate = activated && size_of(op.output) > 2;
    const bool spread = activated && !separate && has_padded_rows(op);
    if (activated) {
        product.epilogue = separate ? Epilogue::none
                           : spread ? Epilogue::accumulate
                                    : Epilogue::bias;
    }
    Workload kernels;
    pad(product, execution, kernels);
    if (spread) {
        kernels.push_back({.operation = over_result(op, "x + bias"),
                           .execution = over_warm(execution, Implementation::torch)});
    }
    kernels.push_back({.operation = product, .execution = eager(execution)});
    if (product.k != op.k) kernels.back().execution.l2 = L2State::warm;
    if (activated) {
        kernels.push_back({.operation = over_result(op, activation(op, separate)),
                           .execution = over_warm(execution, Implementation::compiled)});
    }
    return kernels;
}

Outcome predict_compiled(const Matmul& op, const Execution& execution, const Machine& machine) {
    const Workload kernels = compiled_product(op, execution);
    if (kernels.size() == 1) {
        Outcome outcome = predict(kernels.front().operation, kernels.front().execution, machine);
        if (auto* const alone = std::get_if<Prediction>(&outcome)) {
            alone->implementation = Implementation::compiled;
        }
        return outcome;
    }
    const WorkloadPrediction sum = predict(kernels, machine);
    for (const Outcome& part : sum.parts) {
        if (std::holds_alternative<NotModelled>(part)) return part;
    }
    Outcome outcome(std::in_place_type<Prediction>);
    auto& whole = std::get<Prediction>(outcome);
    whole.implementation = Implementation::compiled;
    set_library_counts(whole, op, execution.l2, machine);
    set_sum(whole, kernels, sum);
    note_kernels(whole, kernels, sum);
    return outcome;
}

}  // namespace ridge::model
