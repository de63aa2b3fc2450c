#include "model/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "hardware/checked.h"
#include "hardware/units.h"
#include "model/machine/occupancy.h"

namespace ridge::model {
namespace {

/// Whether the kernels were never measured: the roofline alone is no reason to switch to them.
bool is_roofline(const Prediction& prediction) {
    return noted<note::RooflineOnly>(prediction) != nullptr;
}

/// Predicts alternatives of one question and keeps those that help.
class Adviser {
  public:
    Adviser(const Execution& execution, const Prediction& now, const Machine& machine)
        : execution_(execution), now_(now), machine_(machine) {}

    [[nodiscard]] std::optional<Advice> consider(std::string change, const Operation& operation,
                                                 const Execution& execution) const {
        const Outcome outcome = predict(operation, execution, machine_);
        const auto* then = std::get_if<Prediction>(&outcome);
        if (then == nullptr || then->time <= Time{}) return std::nullopt;
        if (is_roofline(*then) && !is_roofline(now_)) return std::nullopt;
        const double speed_up = now_.time / then->time;
        if (speed_up < least_speed_up) return std::nullopt;
        return Advice{.change = std::move(change), .time = then->time, .speed_up = speed_up};
    }
    void add(std::optional<Advice> advice) {
        if (advice) found_.push_back(std::move(*advice));
    }
    [[nodiscard]] const Execution& execution() const { return execution_; }
    [[nodiscard]] const Prediction& now() const { return now_; }
    [[nodiscard]] const Machine& machine() const { return machine_; }

    [[nodiscard]] std::vector<Advice> sorted() {
        std::sort(found_.begin(), found_.end(),
                  [](const Advice& a, const Advice& b) { return a.speed_up > b.speed_up; });
        return std::move(found_);
    }

  private:
    const Execution& execution_;
    const Prediction& now_;
    const Machine& machine_;
    std::vector<Advice> found_;
};

struct Extent {
    std::string_view name;
    std::int64_t Matmul::*field;
    std::int32_t Tile::*edge;
};
constexpr std::array extents{Extent{"n", &Matmul::n, &Tile::n}, Extent{"k", &Matmul::k, &Tile::k},
                             Extent{"m", &Matmul::m, &Tile::m}};

constexpr std::int64_t row_unit = 64;  ///< 128-byte rows of a 16-bit type
constexpr double most_padding = 1.25;  ///< more padding makes it another problem
constexpr double as_good = 1.002;

std::string changed(std::string_view verb, std::string_view name, std::int64_t from,
                    std::int64_t to) {
    return fmt::format("{} {} from {} to {}", verb, name, from, to);
}

/// The best padding of one extent; among equally good ones, the roundest number.
std::optional<Advice> pad(const Adviser& adviser, const Matmul& op, const Extent& extent) {
    const std::int64_t now = op.*(extent.field);
    const Tile& tile = adviser.now().tiling.tile;
    const std::int64_t sixteen_bytes =
        128 / std::min<std::int64_t>(bits_of(op.type), bits_of(op.output));
    const std::array<std::int64_t, 4> units{sixteen_bytes, row_unit, 2 * row_unit,
                                            tile.*(extent.edge)};
    std::optional<Advice> best;
    for (const std::int64_t unit : units) {
        if (unit < 1) continue;
        const std::int64_t to = ceil_divide(now, unit) * unit;
        if (to == now || static_cast<double>(to) > most_padding * static_cast<double>(now))
            continue;
        Matmul padded = op;
        padded.*(extent.field) = to;
        auto advice =
            adviser.consider(changed("pad", extent.name, now, to), padded, adviser.execution());
        const bool better = advice && (!best || advice->time <= best->time * as_good);
        if (better) best = std::move(advice);
    }
    return best;
}

/// One partial tile less, which pays if the last tile is nearly empty and opens a wave.
std::optional<Advice> trim(const Adviser& adviser, const Matmul& op, const Extent& extent) {
    const std::int64_t now = op.*(extent.field);
    const std::int64_t edge = adviser.now().tiling.tile.*(extent.edge);
    if (edge < 2 || now <= edge || now % edge == 0 || 8 * (now % edge) > edge) return std::nullopt;
    Matmul trimmed = op;
    trimmed.*(extent.field) = now - now % edge;
    return adviser.consider(changed("reduce", extent.name, now, now - now % edge), trimmed,
                            adviser.execution());
}

/// Both contiguous extents at once, since padding one alone leaves the other misaligned.
std::optional<Advice> pad_both(const Adviser& adviser, const Matmul& op) {
    Matmul padded = op;
    padded.n = ceil_divide(op.n, row_unit) * row_unit;
    padded.k = ceil_divide(op.k, row_unit) * row_unit;
    if (padded.n == op.n || padded.k == op.k) return std::nullopt;
    return adviser.consider(
        changed("pad", "n", op.n, padded.n) + fmt::format(" and k from {} to {}", op.k, padded.k),
        padded, adviser.execution());
}

/// A type that the pipes process faster.
std::optional<DataType> cheaper(DataType type) {
    switch (type) {
        case DataType::fp64:
            return DataType::fp32;
        case DataType::fp32:
            return DataType::tf32;
        case DataType::tf32:
            return DataType::bf16;
        case DataType::fp16:
        case DataType::bf16:
            return DataType::fp8;
        default:
            return std::nullopt;
    }
}

void advise_shape(Adviser& adviser, const Matmul& op) {
    for (const Extent& extent : extents) {
        adviser.add(pad(adviser, op, extent));
        adviser.add(trim(adviser, op, extent));
    }
    adviser.add(pad_both(adviser, op));
}

void advise_on(Adviser& adviser, const Matmul& op) {
    advise_shape(adviser, op);
    if (adviser.now().implementation != Implementation::library) {
        Execution library = adviser.execution();
        library.implementation = Implementation::library;
        library.tile.reset();
        adviser.add(adviser.consider("use the library's kernel", op, library));
    } else if (adviser.execution().tile) {
        Execution free = adviser.execution();
        free.tile.reset();
        adviser.add(adviser.consider("let the library choose the tile", op, free));
    }
    if (const auto type = cheaper(op.type)) {
        Matmul narrow = op;
        narrow.type = *type;
        if (size_of(*type) < size_of(op.output) && size_of(*type) > 1) narrow.output = *type;
        adviser.add(adviser.consider("multiply in " + std::string(name_of(*type)), narrow,
                                     adviser.execution()));
    }
}

void try_implementations(Adviser& adviser, const Operation& op,
                         std::initializer_list<Implementation> others) {
    for (const Implementation other : others) {
        if (other == adviser.now().implementation) continue;
        Execution execution = adviser.execution();
        execution.implementation = other;
        adviser.add(adviser.consider("use impl " + std::string(name_of(other)), op, execution));
    }
}

void advise_on(Adviser& adviser, const Attention& op) {
    try_implementations(
        adviser, op, {Implementation::flashinfer, Implementation::flash3, Implementation::flash2});
}

/// Halves the bytes of a memory-bound operation.
template <class Op>
void try_narrow(Adviser& adviser, const Op& op) {
    if (op.type != DataType::fp32) return;
    Op narrow = op;
    narrow.type = DataType::bf16;
    adviser.add(adviser.consider("store in bf16", narrow, adviser.execution()));
}

void advise_on(Adviser& adviser, const Elementwise& op) {
    try_implementations(adviser, op, {Implementation::fused});
    try_narrow(adviser, op);
}

void advise_on(Adviser& adviser, const RowWise& op) {
    try_implementations(adviser, op, {Implementation::fused});
    try_narrow(adviser, op);
}

void advise_on(Adviser& adviser, const Transpose& op) {
    try_implementations(adviser, op, {Implementation::tiled});
    try_narrow(adviser, op);
}

void advise_on(Adviser& adviser, const Copy& op) {
    try_narrow(adviser, op);
}
void advise_on(Adviser& adviser, const Gather& op) {
    try_narrow(adviser, op);
}
void advise_on(Adviser& adviser, const Cat& op) {
    try_narrow(adviser, op);
}
void advise_on(Adviser& adviser, const AdamW& op) {
    try_implementations(adviser, op, {Implementation::fused});
    try_narrow(adviser, op);
}
/// Reads the same elements contiguously, on one path, or without bank conflicts.
void advise_on(Adviser& adviser, const Access& op) {
    Access best = op;
    best.degree = best_degree(op.pattern);
    if (best.degree == op.degree) return;
    adviser.add(adviser.consider(changed("change", degree_name(op.pattern), op.degree, best.degree),
                                 best, adviser.execution()));
}
/// Fewer registers or less shared memory for another block, or blocks that fill whole waves.
void advise_on(Adviser& adviser, const OwnKernel& op) {
    const auto& limits = adviser.machine().limits;
    if (!limits) return;
    const BlockResources block{.threads = op.block,
                               .registers = op.registers,
                               .shared = static_cast<double>(op.shared) * units::B};
    if (const auto fewer = fewer_registers(block, *limits)) {
        OwnKernel lean = op;
        lean.registers = *fewer;
        adviser.add(adviser.consider(
            changed("reduce", "registers", op.registers, lean.registers) + " for another block",
            lean, adviser.execution()));
    }
    if (const auto less = less_shared(block, *limits)) {
        OwnKernel lean = op;
        lean.shared = static_cast<std::int64_t>(less->base());
        adviser.add(adviser.consider(
            changed("reduce", "shared memory", op.shared, lean.shared) + " B for another block",
            lean, adviser.execution()));
    }
}
void advise_on(Adviser&, const Mla&) {}
void advise_on(Adviser&, const Moe&) {}
void advise_on(Adviser&, const SparseAttention&) {}
void advise_on(Adviser&, const MixedAttention&) {}
void advise_on(Adviser&, const Recurrence&) {}
void advise_on(Adviser&, const TokenWise&) {}
void advise_on(Adviser&, const Collective&) {}

}  // namespace

std::vector<Advice> advise(const Operation& operation, const Execution& execution,
                           const Prediction& prediction, const Machine& machine) {
    Adviser adviser(execution, prediction, machine);
    std::visit([&adviser](const auto& op) { advise_on(adviser, op); }, operation);
    if (execution.launch == LaunchMode::stream) {
        Execution graph = execution;
        graph.launch = LaunchMode::graph;
        adviser.add(adviser.consider("replay it in a graph", operation, graph));
    }
    return adviser.sorted();
}

std::string describe(const Advice& advice) {
    return fmt::format("{}: {}x faster ({})", advice.change, format_number(advice.speed_up, 3),
                       format(advice.time));
}

}  // namespace ridge::model
