// Softmax, norms, losses, reductions and scans: operations along one dimension.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "hardware/checked.h"
#include "model/expression/expression.h"
#include "programs/aten/rules.h"
#include "programs/graph/costs.h"
#include "programs/graph/eager_kernels.h"

namespace ridge::programs {
namespace {

using model::Axis;
using model::Direction;
using model::RowKind;
using model::RowWise;

std::int64_t product(std::span<const std::int64_t> sizes) {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    return count;
}

Understood rows(const RowWise& op, OperatorFamily family, std::int64_t result_elements) {
    return {.steps = {torch_step(op)},
            .family = family,
            .result_bytes = result_elements * size_of(op.type),
            .result_elements = result_elements};
}

/// Along dimension `dim` of a tensor (negative: from the end).
std::optional<Understood> along(const Subject& subject, const Tensor* x, std::int64_t dim,
                                RowKind kind, OperatorFamily family, Direction direction) {
    if (x == nullptr || x->elements() < 1) return {};
    const auto rank = static_cast<std::int64_t>(x->dims.size());
    if (dim < 0) dim += rank;
    const std::int64_t cols =
        dim >= 0 && dim < rank ? x->dims[static_cast<std::size_t>(dim)] : x->elements();
    return rows({.kind = kind,
                 .rows = x->elements() / cols,
                 .cols = cols,
                 .type = data_type(type_of(*x, subject)),
                 .direction = direction},
                family, x->elements());
}

std::optional<Understood> softmax(const Subject& subject) {
    return along(subject, subject.call.tensor(0), subject.call.whole(1).value_or(-1),
                 RowKind::softmax, OperatorFamily::softmax, Direction::forward);
}
/// One kernel, without the product that begins the gradient of a softmax, which is a separate
/// operator. It reads the gradient of a row twice: a long row comes from memory again, because the
/// rows of all blocks do not fit in the L2.
std::optional<Understood> softmax_backward(const Subject& subject) {
    constexpr std::int64_t longest_kept = 64 * 1024;
    const Tensor* const x = subject.call.tensor(0);
    if (x == nullptr || x->elements() < 1 || x->dims.empty()) return {};
    const auto type = type_of(*x, subject);
    const bool kept = x->dims.back() * size_of(type) <= longest_kept;
    return Understood{
        .steps = {step_of(
            model::Elementwise{.expression = model::parse_expression(kept ? "x + y" : "x + y + z"),
                               .elements = x->elements(),
                               .type = data_type(type)},
            model::Implementation::compiled, model::L2State::warm)},
        .family = OperatorFamily::softmax,
        .result_bytes = x->bytes(),
        .result_elements = x->elements()};
}
std::optional<Understood> scan(const Subject& subject) {
    return along(subject, subject.call.tensor(0), subject.call.whole(1).value_or(-1), RowKind::scan,
                 OperatorFamily::reduction, Direction::forward);
}

/// A norm over the last dimensions; argument `shape` holds their sizes.
std::optional<Understood> norm(const Subject& subject, std::size_t place, std::size_t shape,
                               RowKind kind, Direction direction) {
    const Tensor* const x = subject.call.tensor(place);
    if (x == nullptr || x->elements() < 1) return {};
    const auto sizes = subject.call.wholes(shape);
    const std::int64_t cols = sizes.empty() ? x->dims.empty() ? 1 : x->dims.back() : product(sizes);
    if (cols < 1 || x->elements() % cols != 0) return {};
    return rows({.kind = kind,
                 .rows = x->elements() / cols,
                 .cols = cols,
                 .type = data_type(type_of(*x, subject)),
                 .direction = direction},
                OperatorFamily::normalisation, x->elements());
}
std::optional<Understood> layer_norm(const Subject& subject) {
    return norm(subject, 0, 1, RowKind::layernorm, Direction::forward);
}
/// Without gradients of weights, the one kernel reads the gradient and the input.
std::optional<Understood> layer_norm_backward(const Subject& subject) {
    constexpr std::size_t mask_place = 7;
    const std::string_view mask = subject.call.value(mask_place);
    const Tensor* const x = subject.call.tensor(1);
    if (mask.find("True") == mask.rfind("True") && mask.starts_with("[True") && x != nullptr &&
        x->elements() > 0) {
        const auto type = type_of(*x, subject);
        return Understood{
            .steps = {step_of(model::Elementwise{.expression = model::parse_expression("x + y"),
                                                 .elements = x->elements(),
                                                 .type = data_type(type)},
                              model::Implementation::compiled, model::L2State::warm)},
            .family = OperatorFamily::normalisation,
            .result_bytes = x->bytes(),
            .result_elements = x->elements()};
    }
    return norm(subject, 1, 2, RowKind::layernorm, Direction::backward);
}
std::optional<Understood> rms_norm(const Subject& subject) {
    return norm(subject, 0, 1, RowKind::rmsnorm, Direction::forward);
}
std::optional<Understood> rms_norm_backward(const Subject& subject) {
    return norm(subject, 1, 2, RowKind::rmsnorm, Direction::backward);
}
/// A reduction with its layout in memory.
struct Reduction {
    RowWise op;
    /// The kept dimensions lie between reduced ones: the parts of each result are far apart.
    bool apart = false;
};

/// Sizes of the dimensions by falling strides, and which of them are reduced.
struct Order {
    std::vector<std::int64_t> sizes;
    std::vector<bool> gone;
};

Order in_memory(const Tensor& x, const std::vector<std::int64_t>& dims) {
    const auto rank = static_cast<std::int64_t>(x.dims.size());
    std::vector<bool> gone(x.dims.size(), dims.empty());
    for (std::int64_t dim : dims) {
        if (dim < 0) dim += rank;
        if (dim >= 0 && dim < rank) gone[static_cast<std::size_t>(dim)] = true;
    }
    std::vector<std::size_t> order(x.dims.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (x.strides.size() == x.dims.size()) {
        std::stable_sort(order.begin(), order.end(), [&x](std::size_t a, std::size_t b) {
            return x.strides[a] > x.strides[b];
        });
    }
    Order found;
    for (const std::size_t dim : order) {
        if (x.dims[dim] == 1) continue;
        found.sizes.push_back(x.dims[dim]);
        found.gone.push_back(gone[dim]);
    }
    return found;
}

/// Which of [outer, inner] a set of dimensions reduces; a set that is neither counts as inner.
Reduction reduced(const Tensor& x, const std::vector<std::int64_t>& dims) {
    const Order memory = in_memory(x, dims);
    std::int64_t away = 1;
    for (std::size_t i = 0; i < memory.sizes.size(); ++i) {
        if (memory.gone[i]) away *= memory.sizes[i];
    }
    Reduction found;
    RowWise& op = found.op;
    const std::int64_t kept = x.elements() / std::max<std::int64_t>(1, away);
    const bool last = memory.gone.empty() || memory.gone.back();
    if (kept == 1) {
        op.axis = Axis::all;
        op.rows = last && !memory.sizes.empty()
                      ? std::max<std::int64_t>(1, away / memory.sizes.back())
                      : 1;
        op.cols = away / op.rows;
    } else if (last) {
        op.rows = kept;
        op.cols = away;
        found.apart = away > 1 && memory.gone.front();
    } else {
        op.axis = Axis::columns;
        op.rows = away;
        op.cols = kept;
    }
    return found;
}

/// What a thread of PyTorch's sum over outer dimensions can load at once: its results, as they lie
/// in the output, in vectors of four or two. (eq. S6)
struct Neighbours {
    bool vectors = true;
    bool apart = false;  ///< the parts of neighbouring results are not contiguous
};

Neighbours neighbours(const Tensor& x, const std::vector<std::int64_t>& dims) {
    const auto rank = static_cast<std::int64_t>(x.dims.size());
    std::int64_t together = 1;  // results whose parts are contiguous
    Neighbours found;
    bool first = true;
    for (std::int64_t i = rank - 1; i >= 0; --i) {
        const auto place = static_cast<std::size_t>(i);
        const bool gone = std::any_of(dims.begin(), dims.end(), [i, rank](std::int64_t dim) {
            return (dim < 0 ? dim + rank : dim) == i;
        });
        if (gone || x.dims[place] == 1) continue;
        const std::int64_t stride = place < x.strides.size() ? x.strides[place] : together;
        if (first) found.apart = stride > 1;
        first = false;
        if (stride != together) break;
        together *= x.dims[place];
    }
    found.vectors = !found.apart && together % 2 == 0;
    return found;
}

/// One result per thread, whose parts are loaded four at a time; many parts are divided among 16
/// threads. (eq. S6)
std::optional<KernelWork> by_threads(const RowWise& op, const Neighbours& lie, std::int64_t size) {
    constexpr std::int64_t warps = 16;
    constexpr std::int64_t lanes = 32;
    constexpr std::int64_t many = 256;
    if (op.cols < lanes || op.rows >= many * warps) return {};
    const bool shared = op.rows >= many;
    const std::int64_t results = shared ? lanes : lanes * warps;
    const auto parts = static_cast<double>(shared ? ceil_divide(op.rows, warps) : op.rows);
    const double lines = lie.apart ? static_cast<double>(lanes) : 1.0;
    return KernelWork{
        .moved = static_cast<double>((op.rows + 1) * op.cols * size),
        .chains = ceil_divide(op.cols, results),
        .chain_clocks = cost("rows.loads") * std::ceil(parts / 4.0),
        .block_clocks = static_cast<double>(warps) * parts * (cost("rows.warp") + lines - 1.0),
        .floors = 1.0};
}

/// The used share of the columns of PyTorch's blocks: a thread takes four columns, and a block has
/// a power of two of threads, at most a warp. Partly filled blocks take as long as full ones. (eq.
/// S6)
double filled_columns(std::int64_t columns) {
    constexpr std::int64_t of_thread = 4;
    constexpr std::uint64_t warp = 32;
    if (columns < of_thread || columns % of_thread != 0) return 1.0;
    const std::uint64_t width =
        std::min(warp, std::bit_floor(static_cast<std::uint64_t>(columns / of_thread)));
    const std::int64_t block = of_thread * static_cast<std::int64_t>(width);
    return static_cast<double>(columns) / static_cast<double>(ceil_divide(columns, block) * block);
}

/// Blocks whose threads go through parts that are far apart. (eq. S6)
KernelWork apart(const RowWise& op, std::int64_t size) {
    return {.moved = static_cast<double>(op.rows * op.cols * size),
            .sums = SplitSums{.results = op.rows, .parts = op.cols}};
}

std::optional<Understood> reduced_rows(const Subject& subject, const Tensor& x, RowKind kind,
                                       const std::vector<std::int64_t>& dims) {
    Reduction found = reduced(x, dims);
    const auto element = type_of(x, subject);
    found.op.kind = kind;
    found.op.type = data_type(element);
    Understood one = rows(found.op, OperatorFamily::reduction, results_of(found.op));
    if (found.apart) one.kernels = {apart(found.op, size_of(element))};
    if (found.op.axis != Axis::columns) return one;
    if (const auto lie = neighbours(x, dims); !lie.vectors) {
        if (const auto kernel = by_threads(found.op, lie, size_of(element)))
            one.kernels = {*kernel};
    } else if (const double filled = filled_columns(found.op.cols); filled < 1.0) {
        Entry entry = entry_of(one.steps.front());
        entry.stretch = 1.0 / filled;
        one.entries = {std::move(entry)};
    }
    return one;
}

std::optional<Understood> reduction(const Subject& subject, RowKind kind) {
    const Tensor* const x = subject.call.tensor(0);
    if (x == nullptr || x->elements() < 1) return {};
    std::vector<std::int64_t> dims = subject.call.wholes(1);
    if (dims.empty()) {
        if (const auto dim = subject.call.whole(1); dim && subject.call.arguments.size() > 1) {
            dims = {*dim};
        }
    }
    return reduced_rows(subject, *x, kind, dims);
}
std::optional<Understood> sum(const Subject& subject) {
    return reduction(subject, RowKind::sum);
}
std::optional<Understood> mean(const Subject& subject) {
    return reduction(subject, RowKind::mean);
}
std::optional<Understood> largest(const Subject& subject) {
    return reduction(subject, RowKind::max);
}
std::optional<Understood> largest_place(const Subject& subject) {
    return reduction(subject, RowKind::argmax);
}
/// The order of the norm comes before the dimensions.
std::optional<Understood> vector_norm(const Subject& subject) {
    const Tensor* const x = subject.call.tensor(0);
    if (x == nullptr || x->elements() < 1) return {};
    return reduced_rows(subject, *x, RowKind::sum, subject.call.wholes(2));
}

/// Sorts one row of keys: for many rows PyTorch uses other kernels, for which there is no rule.
std::optional<Understood> sort(const Subject& subject) {
    const Tensor* const x = subject.call.tensor(0);
    if (x == nullptr || x->dims.empty() || x->elements() < 1) return {};
    if (x->elements() != x->dims.back()) return {};
    std::vector<Entry> entries;
    for (const SmallKernel& kernel : sort_kernels(x->elements())) {
        entries.push_back(entry_of(kernel, "sort"));
    }
    return carried_out(std::move(entries), OperatorFamily::other, x->elements(), 8);
}

/// The k largest or smallest of short rows: one block per row, then a sort of what it found. (W3)
std::optional<Understood> best(const Subject& subject) {
    constexpr std::int64_t longest = 1024;
    const Tensor* const x = subject.call.tensor(0);
    if (x == nullptr || x->dims.empty() || x->elements() < 1 || x->dims.back() > longest) return {};
    const std::int64_t rows = x->elements() / x->dims.back();
    const std::int64_t wanted = subject.call.whole(1).value_or(1);
    const std::int64_t found = rows * std::clamp<std::int64_t>(wanted, 1, x->dims.back());
    std::vector<Entry> entries{
        entry_of({.bytes = x->elements() * 8, .least = time_cost("least.top_gather")}, "gather")};
    entries.front().indexed_clocks = static_cast<double>(rows) * cost("rows.best_row");
    if (subject.call.flag(4))
        entries.push_back(
            entry_of({.bytes = found * 8, .least = time_cost("least.top_sort")}, "sort"));
    return carried_out(std::move(entries), OperatorFamily::other, found, size_of(x->type));
}

constexpr std::array row_table{Rule{"_softmax", softmax},
                               Rule{"_log_softmax", softmax},
                               Rule{"_safe_softmax", softmax},
                               Rule{"_softmax_backward_data", softmax_backward},
                               Rule{"_log_softmax_backward_data", softmax_backward},
                               Rule{"native_layer_norm", layer_norm},
                               Rule{"native_layer_norm_backward", layer_norm_backward},
                               Rule{"_fused_rms_norm", rms_norm},
                               Rule{"_fused_rms_norm_backward", rms_norm_backward},
                               Rule{"sum", sum},
                               Rule{"nansum", sum},
                               Rule{"prod", sum},
                               Rule{"all", sum},
                               Rule{"any", sum},
                               Rule{"count_nonzero", sum},
                               Rule{"mean", mean},
                               Rule{"var", mean},
                               Rule{"var_mean", mean},
                               Rule{"std", mean},
                               Rule{"std_mean", mean},
                               Rule{"logsumexp", sum},
                               Rule{"linalg_vector_norm", vector_norm},
                               Rule{"norm", vector_norm},
                               Rule{"max", largest},
                               Rule{"min", largest},
                               Rule{"amax", largest},
                               Rule{"amin", largest},
                               Rule{"argmax", largest_place},
                               Rule{"argmin", largest_place},
                               Rule{"cumsum", scan},
                               Rule{"cumprod", scan},
                               Rule{"cummax", scan},
                               Rule{"_logcumsumexp", scan},
                               Rule{"sort", sort},
                               Rule{"topk", best}};

}  // namespace

std::span<const Rule> row_rules() {
    return row_table;
}

}  // namespace ridge::programs
