// Tensors alive at the peak, by operation and implementation. The rules are eq. V1 to V5 of
// docs/model.md.
#include "model/footprint/footprint.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "hardware/checked.h"
#include "hardware/error.h"
#include "model/attention/blocks.h"
#include "model/bundled/launch_grid.h"
#include "model/footprint/parts.h"
#include "model/footprint/serving_operations.h"

namespace ridge::model {
namespace {

using bundled::rounded_up;

constexpr double fp32 = 4.0;

double count(std::int64_t value) {
    return static_cast<double>(value);
}

/// Bytes of attention's tensors over batch and heads.
struct AttentionSizes {
    double q;         ///< q, out and their gradients
    double kv;        ///< k, v and their gradients
    double expanded;  ///< k or v repeated for every query head
    double scores;
    double rows;  ///< batch x heads x seq_q
    double element;
};

double cache_element(const Attention& op) {
    return count(size_of(cache_type_of(op)));
}

AttentionSizes sizes_of(const Attention& op) {
    const double element = count(size_of(op.type));
    const double rows = count(op.batch) * count(op.heads) * count(op.seq_q);
    const double per_head =
        count(op.batch) * count(op.seq_kv) * count(op.head_dim) * cache_element(op);
    return {.q = rows * count(op.head_dim) * element,
            .kv = per_head * count(op.kv_heads),
            .expanded = per_head * count(op.heads),
            .scores = rows * count(op.seq_kv) * element,
            .rows = rows,
            .element = element};
}

void add_attention_tensors(Parts& parts, const AttentionSizes& sizes, Pass pass) {
    parts.add("q", sizes.q, Phase::input);
    parts.add("k", sizes.kv, Phase::input);
    parts.add("v", sizes.kv, Phase::input);
    parts.add("out", sizes.q, Phase::output);
    if (pass == Pass::inference) return;
    parts.add("d_out", sizes.q, Phase::gradient);
    parts.add("dq", sizes.q, Phase::gradient);
    parts.add("dk", sizes.kv, Phase::gradient);
    parts.add("dv", sizes.kv, Phase::gradient);
}

void add_standard(Parts& parts, const AttentionSizes& sizes, Pass pass) {
    if (pass == Pass::inference) {
        parts.add("scores", sizes.scores, Phase::scratch);
        parts.add("probabilities", sizes.scores, Phase::scratch);
        return;
    }
    parts.add("scores", sizes.scores, Phase::saved);
    parts.add("probabilities", sizes.scores, Phase::saved);
    parts.add("d_scores", sizes.scores, Phase::scratch);
    parts.add("d_probabilities", sizes.scores, Phase::scratch);
    parts.add("layout copies", 2.0 * sizes.q, Phase::scratch);
}

void add_flash1(Parts& parts, const Attention& op, const AttentionSizes& sizes, Pass pass) {
    const AttentionBlocks blocks = attention_blocks(op, Implementation::flash1, {});
    const bool accumulates = op.seq_kv > blocks.kv;
    const bool grouped = op.heads != op.kv_heads;
    const bool training = pass == Pass::training;
    parts.add("statistics", fp32 * sizes.rows, training ? Phase::saved : Phase::scratch);
    if (grouped) parts.add("expanded k, v", 2.0 * sizes.expanded, Phase::scratch);
    if (accumulates) {
        parts.add("fp32 accumulator", sizes.q / sizes.element * fp32, Phase::scratch);
    }
    if (!training) return;
    parts.add("row sums", fp32 * sizes.rows, Phase::scratch);
    parts.add("layout copies", 3.0 * sizes.q, Phase::scratch);
    if (grouped) parts.add("expanded dk, dv", 2.0 * sizes.expanded, Phase::scratch);
}

void add_flash2_or_3(Parts& parts, const Attention& op, const AttentionSizes& sizes, Pass pass,
                     bool is_flash3) {
    if (pass == Pass::inference) {
        parts.add("logsumexp", fp32 * sizes.rows, Phase::scratch);
        return;
    }
    const std::int64_t unit = op.head_dim <= 128 ? 32 : 64;
    const double padded_dim = count(rounded_up(op.head_dim, unit));
    const double padded_rows = count(op.batch) * count(op.heads) * count(rounded_up(op.seq_q, 128));
    parts.add("logsumexp", fp32 * sizes.rows, Phase::saved);
    parts.add("row sums", fp32 * padded_rows, Phase::scratch);
    parts.add("fp32 dq accumulator", fp32 * padded_rows * padded_dim, Phase::scratch);
    if (is_flash3) parts.add("logsumexp in base 2", fp32 * padded_rows, Phase::scratch);
    if (op.heads == op.kv_heads) return;
    if (is_flash3) {
        const double keys =
            count(op.batch) * count(op.kv_heads) * count(rounded_up(op.seq_kv, 128));
        parts.add("fp32 dk, dv accumulators", 2.0 * fp32 * keys * padded_dim, Phase::scratch);
    } else {
        parts.add("expanded dk, dv", 2.0 * sizes.expanded, Phase::scratch);
    }
}

Footprint of_operation(const Attention& op, Implementation implementation, Pass pass) {
    const AttentionSizes sizes = sizes_of(op);
    Parts parts;
    add_attention_tensors(parts, sizes, pass);
    switch (implementation) {
        case Implementation::standard:
        case Implementation::torch:
        case Implementation::torch_math:
            add_standard(parts, sizes, pass);
            break;
        case Implementation::flash1:
            add_flash1(parts, op, sizes, pass);
            break;
        case Implementation::flash3:
            add_flash2_or_3(parts, op, sizes, pass, true);
            break;
        default:
            add_flash2_or_3(parts, op, sizes, pass, false);
            break;
    }
    return parts.footprint();
}

/// Operations of serving engines keep all of their tensors for the whole call.
template <class Op>
Footprint of_operation(const Op& op, Implementation, Pass) {
    return footprint_of(op);
}

Footprint of_operation(const Matmul& op, Implementation, Pass pass) {
    const double a = count(op.batch) * operand_bytes(op.type, count(op.m), count(op.k));
    const double b =
        count(op.batch) * operand_bytes(op.type, count(op.n), count(op.k), Operand::weights);
    const double c = count(op.batch) * count(op.m) * count(op.n) * count(size_of(op.output));
    const double bias = has_bias(op.epilogue) ? count(op.n) * count(size_of(op.output)) : 0.0;
    Parts parts;
    parts.add("a", a, Phase::input);
    parts.add("b", b, Phase::input);
    parts.add("bias", bias, Phase::input);
    parts.add("c", c, Phase::output);
    if (pass == Pass::training) {
        // The gradient of an activation needs the value before it.
        parts.add("before activation", is_activated(op.epilogue) ? c : 0.0, Phase::saved);
        parts.add("d_c", c, Phase::gradient);
        parts.add("d_a", a, Phase::gradient);
        parts.add("d_b", b, Phase::gradient);
        parts.add("d_bias", bias, Phase::gradient);
    }
    return parts.footprint();
}

bool is_kernel(const Node& node) {
    return node.function != Function::input && node.function != Function::constant &&
           node.shape == InputShape::tensor;
}

/// Most intermediate results that are alive at once if each is freed after its last use.
std::int32_t intermediates_alive(const std::vector<Node>& nodes) {
    std::vector<std::size_t> last_use(nodes.size(), 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const std::int32_t argument : {nodes[i].first, nodes[i].second, nodes[i].third}) {
            if (argument >= 0) last_use[static_cast<std::size_t>(argument)] = i;
        }
    }
    std::vector<std::int32_t> freed_after(nodes.size(), 0);
    std::int32_t alive = 0;
    std::int32_t most = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const bool is_result = i + 1 == nodes.size();
        if (is_kernel(nodes[i]) && !is_result) {
            ++alive;
            ++freed_after[last_use[i]];
        }
        most = std::max(most, alive);
        alive -= freed_after[i];
    }
    return most;
}

Footprint of_operation(const Elementwise& op, Implementation implementation, Pass pass) {
    const double tensor = count(op.elements) * count(size_of(op.type));
    const double result = count(op.elements) * count(size_of(op.result()));
    const std::vector<Node>& nodes = op.expression.nodes();
    const double inputs = count(op.expression.fused().reads);
    const ExpressionCounts& counts = op.expression.fused();
    const bool unfused =
        implementation == Implementation::unfused || implementation == Implementation::torch;
    const auto kernels = static_cast<double>(std::count_if(nodes.begin(), nodes.end(), is_kernel));
    Parts parts;
    parts.add("inputs", inputs * tensor, Phase::input);
    parts.add("masks read", counts.mask_reads * count(op.elements), Phase::input);
    parts.add("output", result, Phase::output);
    parts.add("masks drawn", counts.mask_writes * count(op.elements), Phase::output);
    if (pass == Pass::inference) {
        if (unfused) {
            parts.add("intermediates", intermediates_alive(nodes) * tensor, Phase::scratch);
        }
        return parts.footprint();
    }
    parts.add("d_output", result, Phase::gradient);
    parts.add("d_inputs", inputs * tensor, Phase::gradient);
    if (unfused && kernels > 1.0) {
        parts.add("activations", (kernels - 1.0) * tensor, Phase::saved);
        parts.add("gradient in flight", tensor, Phase::scratch);
    }
    return parts.footprint();
}

Footprint of_operation(const RowWise& op, Implementation implementation, Pass pass) {
    const double element = count(size_of(op.type));
    const double matrix = count(op.rows) * count(op.cols) * element;
    const double results = count(results_of(op));
    const double column = results * (op.kind == RowKind::argmax ? 8.0 : element);
    const bool normalises = op.kind == RowKind::layernorm || op.kind == RowKind::rmsnorm;
    const double parameters =
        normalises ? count(op.cols) * element * (op.kind == RowKind::layernorm ? 2.0 : 1.0) : 0.0;
    const double statistics =
        normalises ? count(op.rows) * fp32 * (op.kind == RowKind::layernorm ? 2.0 : 1.0) : 0.0;
    const double output = is_reduction(op.kind)               ? column
                          : op.kind == RowKind::cross_entropy ? element
                                                              : matrix;
    const double targets = op.kind == RowKind::cross_entropy ? 8.0 * count(op.rows) : 0.0;
    const bool training = pass == Pass::training;
    Parts parts;
    parts.add("x", matrix, Phase::input);
    parts.add("parameters", parameters, Phase::input);
    parts.add("targets", targets, Phase::input);
    if (op.kind == RowKind::cross_entropy && implementation == Implementation::torch) {
        parts.add("log probabilities", matrix, training ? Phase::saved : Phase::scratch);
    }
    parts.add("y", output, Phase::output);
    parts.add("statistics", statistics, training ? Phase::saved : Phase::scratch);
    if (implementation == Implementation::manual && op.kind == RowKind::softmax) {
        // x - max and its exp, the row maxima and the row sums.
        parts.add("intermediates", 2.0 * matrix + 2.0 * column,
                  training ? Phase::saved : Phase::scratch);
    }
    if (training) {
        parts.add("dy", output, Phase::gradient);
        parts.add("dx", matrix, Phase::gradient);
        parts.add("d_parameters", parameters, Phase::gradient);
    }
    return parts.footprint();
}

Footprint moved(double input, double output, Pass pass) {
    Parts parts;
    parts.add("input", input, Phase::input);
    parts.add("output", output, Phase::output);
    if (pass == Pass::training) {
        parts.add("d_output", output, Phase::gradient);
        parts.add("d_input", input, Phase::gradient);
    }
    return parts.footprint();
}

Footprint of_operation(const Transpose& op, Implementation, Pass pass) {
    const double matrix = count(op.batch) * count(op.rows) * count(op.cols) * count(op.inner) *
                          count(size_of(op.type));
    return moved(matrix, matrix, pass);
}

Footprint of_operation(const Copy& op, Implementation, Pass pass) {
    const double element = count(size_of(op.type));
    const double span = count(op.elements - 1) * count(op.stride) + 1.0;
    return moved(span * element, count(op.elements) * element, pass);
}

Footprint of_operation(const Cat& op, Implementation, Pass pass) {
    const double all = count(op.inputs) * count(op.rows) * count(op.cols) * count(size_of(op.type));
    return moved(all, all, pass);
}

Footprint of_operation(const AdamW& op, Implementation implementation, Pass) {
    const double tensor = count(op.elements) * count(size_of(op.type));
    Parts parts;
    parts.add("parameters", tensor, Phase::input);
    parts.add("gradients", tensor, Phase::gradient);
    parts.add("moments", 2.0 * tensor, Phase::saved);
    // With one kernel for each operation, the denominators are kept.
    parts.add("denominators", implementation == Implementation::torch ? tensor : 0.0,
              Phase::scratch);
    return parts.footprint();
}

Footprint of_operation(const Gather& op, Implementation, Pass pass) {
    constexpr double index = 8.0;
    const double row = count(op.cols) * count(size_of(op.type));
    Parts parts;
    parts.add("table", count(op.table_rows) * row, Phase::input);
    parts.add("index", count(op.rows) * index, Phase::input);
    parts.add("output", count(op.rows) * row, Phase::output);
    if (pass == Pass::training) {
        parts.add("d_output", count(op.rows) * row, Phase::gradient);
        parts.add("d_table", count(op.table_rows) * row, Phase::gradient);
    }
    return parts.footprint();
}

Footprint of_operation(const Access& op, Implementation, Pass) {
    const double element = count(size_of(op.type));
    Parts parts;
    switch (op.pattern) {
        case AccessPattern::strided:
            parts.add("input", (count(op.elements - 1) * count(op.degree) + 1.0) * element,
                      Phase::input);
            break;
        case AccessPattern::misaligned:
            parts.add("input", count(op.elements + op.degree) * element, Phase::input);
            break;
        case AccessPattern::divergent:
            parts.add("output", count(op.elements) * element, Phase::output);
            break;
        case AccessPattern::chase:
        case AccessPattern::reread:
            parts.add("input", count(op.elements) * element, Phase::input);
            break;
        case AccessPattern::bank_conflict:
            break;  // only shared memory
    }
    return parts.footprint();
}

/// What it moves is the most that its arguments can be, as far as its figures say.
Footprint of_operation(const OwnKernel& op, Implementation, Pass) {
    Parts parts;
    parts.add("moved", count(op.bytes), Phase::input);
    return parts.footprint();
}

Footprint of_operation(const Collective& op, Implementation, Pass) {
    const double whole = count(op.bytes);
    const double share = count(ceil_divide(op.bytes, op.gpus));
    Parts parts;
    switch (op.kind) {
        case CollectiveKind::all_gather:
            parts.add("input", share, Phase::input);
            parts.add("output", whole, Phase::output);
            break;
        case CollectiveKind::reduce_scatter:
            parts.add("input", whole, Phase::input);
            parts.add("output", share, Phase::output);
            break;
        case CollectiveKind::all_to_all:
            parts.add("input", whole, Phase::input);
            parts.add("output", whole, Phase::output);
            break;
        default:
            parts.add("buffer", whole, Phase::input);
            break;
    }
    return parts.footprint();
}

}  // namespace

Bytes Footprint::total() const {
    Bytes sum;
    for (const Allocation& part : parts) sum += part.bytes;
    return sum;
}

Bytes Footprint::total(Phase phase) const {
    Bytes sum;
    for (const Allocation& part : parts) {
        if (part.phase == phase) sum += part.bytes;
    }
    return sum;
}

Bytes Footprint::bytes_of(std::string_view name) const {
    for (const Allocation& part : parts) {
        if (part.name == name) return part.bytes;
    }
    return {};
}

Footprint footprint(const Operation& operation, Implementation implementation, Pass pass) {
    return std::visit([&](const auto& op) { return of_operation(op, implementation, pass); },
                      operation);
}

OneHeadFormula one_head_formula(const Attention& attention) {
    const AttentionSizes sizes = sizes_of(attention);
    const double one = count(attention.seq_q) * count(attention.seq_kv) * sizes.element;
    return {.one_score_matrix = Bytes::from_base(one),
            .all_score_matrices = Bytes::from_base(sizes.scores),
            .rule_total = Bytes::from_base(2.0 * sizes.q + 2.0 * sizes.kv + one),
            .factor = count(attention.batch) * count(attention.heads)};
}

std::string_view name_of(Pass pass) {
    return pass == Pass::inference ? "inference" : "training";
}

std::string_view name_of(Phase phase) {
    constexpr std::array<std::string_view, 5> names{"input", "output", "saved", "gradient",
                                                    "scratch"};
    return names.at(static_cast<std::size_t>(phase));
}

Pass parse_pass(std::string_view text) {
    for (const Pass pass : {Pass::inference, Pass::training}) {
        if (text == name_of(pass)) return pass;
    }
    throw InputError("pass must be inference or training, got '" + std::string(text) + "'");
}

}  // namespace ridge::model
