#include "programs/report/padding.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "programs/aten/least_change.h"
#include "programs/report/changed_call.h"
#include "programs/report/weights.h"

namespace ridge::programs {
namespace {

using Growth = std::map<std::int64_t, std::int64_t>;  // new extents

std::int64_t rounded_up(std::int64_t extent, std::int64_t multiple) {
    return (extent + multiple - 1) / multiple * multiple;
}

/// Dimensions from the innermost to the outermost in memory.
std::vector<std::size_t> order_of(const Tensor& tensor) {
    std::vector<std::size_t> order(tensor.dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&tensor](std::size_t a, std::size_t b) {
        return tensor.strides[a] < tensor.strides[b];
    });
    return order;
}

bool grow(Tensor& tensor, const Growth& growth) {
    const bool dense = tensor.strides.size() == tensor.dims.size() && tensor.dense();
    const std::vector<std::size_t> order = dense ? order_of(tensor) : std::vector<std::size_t>{};
    bool grown = false;
    for (std::int64_t& extent : tensor.dims) {
        const auto found = growth.find(extent);
        if (found == growth.end()) continue;
        extent = found->second;
        grown = true;
    }
    if (!grown) return false;
    if (!dense) {
        for (std::int64_t& stride : tensor.strides) {
            for (const auto& [from, to] : growth) {
                if (stride % from != 0) continue;
                stride = stride / from * to;
                break;
            }
        }
        return true;
    }
    std::int64_t stride = 1;
    for (const std::size_t place : order) {
        tensor.strides[place] = stride;
        stride *= tensor.dims[place];
    }
    return true;
}

/// Numbers and lists of numbers: sizes of results.
std::string grown_value(const std::string& value, const Growth& growth) {
    std::string result;
    for (std::size_t i = 0; i < value.size();) {
        std::size_t end = i;
        while (end < value.size() && value[end] >= '0' && value[end] <= '9') ++end;
        if (end == i) {
            result += value[i++];
            continue;
        }
        const std::string digits = value.substr(i, end - i);
        result += digits;
        for (const auto& [from, to] : growth) {
            if (digits != std::to_string(from)) continue;
            result.replace(result.size() - digits.size(), digits.size(), std::to_string(to));
            break;
        }
        i = end;
    }
    return result;
}

std::optional<Call> grown_call(Call call, const Growth& growth) {
    bool grown = false;
    for (Argument& argument : call.arguments) {
        for (Tensor& tensor : argument.tensors) grown = grow(tensor, growth) || grown;
        argument.value = grown_value(argument.value, growth);
    }
    if (!grown) return {};
    return call;
}

class Paddings {
  public:
    Paddings(const Rows& rows, const model::Machine& machine)
        : rows_(rows), machine_(machine), weights_(weights_of(rows)) {}

    [[nodiscard]] std::vector<Padding> find() {
        std::vector<Padding> found;
        std::set<std::int64_t> taken;
        for (const Heads& heads : odd_heads()) {
            Growth growth{{heads.dim, heads.padded}};
            for (const std::int64_t width : widths(heads)) {
                growth[width] = width / heads.dim * heads.padded;
                taken.insert(width);
            }
            Padding padding = with(growth, &heads);
            padding.what = "heads of " + std::to_string(heads.dim) + " as " +
                           std::to_string(heads.padded) + ", with the widths made of them";
            found.push_back(std::move(padding));
        }
        for (const std::int64_t extent : odd_extents()) {
            if (taken.contains(extent)) continue;
            found.push_back(best_of(extent));
        }
        return found;
    }

  private:
    static constexpr std::int64_t reads_bytes = 16;  // of one load

    struct Heads {
        std::int64_t dim = 0;
        std::int64_t padded = 0;
        std::int64_t count = 0;
        std::int64_t elements = 0;  ///< of queries, without the dimension of a head

        friend bool operator<(const Heads& a, const Heads& b) { return a.dim < b.dim; }
    };

    /// Extents of weights that do not fill loads of the products that take them.
    [[nodiscard]] std::set<std::int64_t> odd_extents() const {
        constexpr std::int64_t least = 16;
        std::set<std::int64_t> odd;
        for (std::size_t i = 0; i < rows_.calls.size(); ++i) {
            const auto first = first_operand(rows_.calls[i]);
            if (!first) continue;
            const Tensor* const b = rows_.calls[i].tensor(*first + 1);
            if (b == nullptr || b->dims.size() != 2 || size_of(b->type) < 1) continue;
            if (!weights_.contains(b->dims)) continue;
            const std::int64_t together = reads_bytes / size_of(b->type);
            for (const std::int64_t extent : b->dims) {
                if (extent >= least && together > 1 && extent % together != 0) odd.insert(extent);
            }
        }
        return odd;
    }

    /// Heads that PyTorch pads for its kernels, which take multiples of 8: attention has the padded
    /// size, the copies into it have theirs.
    [[nodiscard]] std::set<Heads> odd_heads() const {
        std::set<Heads> odd;
        for (std::size_t i = 0; i < rows_.rows.size(); ++i) {
            if (rows_.rows[i].family != OperatorFamily::attention) continue;
            const Tensor* const q = rows_.calls[i].tensor(0);
            if (q == nullptr || q->dims.size() != 4) continue;
            const std::int64_t dim = q->dims[3];
            const std::int64_t elements = q->dims[0] * q->dims[1] * q->dims[2];
            const std::int64_t padded = rounded_up(dim, lanes);
            for (std::int64_t own = padded - lanes + 1; own < padded; ++own) {
                if (own != dim && !is_copied(own, elements)) continue;
                for (const std::int64_t count : {q->dims[1], q->dims[2]}) {
                    const Heads heads{
                        .dim = own, .padded = padded, .count = count, .elements = elements};
                    if (!widths(heads).empty()) odd.insert(heads);
                }
            }
        }
        return odd;
    }
    [[nodiscard]] bool is_copied(std::int64_t dim, std::int64_t elements) const {
        return std::any_of(rows_.calls.begin(), rows_.calls.end(), [&](const Call& call) {
            return pads(call, {.dim = dim, .padded = dim, .count = 1, .elements = elements});
        });
    }

    /// Extents of weights that are so many whole heads.
    [[nodiscard]] std::set<std::int64_t> widths(const Heads& heads) const {
        std::set<std::int64_t> found;
        for (const std::vector<std::int64_t>& weight : weights_) {
            for (const std::int64_t extent : weight) {
                if (extent % (heads.dim * heads.count) == 0) found.insert(extent);
            }
        }
        return found;
    }

    /// A copy of heads, or a fill of padded ones: what padding needs.
    static bool pads(const Call& call, const Heads& heads) {
        const std::string_view name = bare_operator(call.name);
        const Tensor* const to = call.tensor(0);
        if (to == nullptr || to->dims.size() != 4) return false;
        const bool copies = name == "copy" && to->dims[3] == heads.dim;
        const bool fills = name == "fill" && to->dims[3] == heads.padded;
        return (copies || fills) && to->dims[0] * to->dims[1] * to->dims[2] == heads.elements;
    }

    /// The largest multiple, unless a smaller one is worth a change by itself.
    [[nodiscard]] Padding best_of(std::int64_t extent) const {
        Padding best;
        Time least;
        for (std::int64_t multiple = 16 * lanes; multiple >= lanes; multiple /= 2) {
            const std::int64_t padded = rounded_up(extent, multiple);
            Padding padding = with({{extent, padded}}, nullptr);
            padding.what = std::to_string(extent) + " as " + std::to_string(padded);
            const Time time = time_with(padding);
            if (!best.what.empty() && time >= least * (1.0 - least_change())) continue;
            least = time;
            best = std::move(padding);
        }
        return best;
    }

    [[nodiscard]] Padding with(const Growth& growth, const Heads* heads) const {
        Padding padding{.what = {}, .times = std::vector<double>(rows_.rows.size(), 1.0)};
        for (std::size_t i = 0; i < rows_.rows.size(); ++i) {
            const OperatorRow& row = rows_.rows[i];
            const bool of_lists = row.family == OperatorFamily::optimizer;
            if (rows_.calls[i].name.empty() || row.driver || of_lists) continue;
            if (heads != nullptr && pads(rows_.calls[i], *heads)) {
                padding.times[i] = 0.0;
                padding.calls += row.count;
                continue;
            }
            const auto grown = grown_call(rows_.calls[i], growth);
            if (!grown) continue;
            padding.calls += row.count;
            padding.times[i] =
                changed_time(row, rows_.understood[i], *grown, machine_).value_or(1.0);
        }
        return padding;
    }

    [[nodiscard]] Time time_with(const Padding& padding) const {
        Time sum;
        for (std::size_t i = 0; i < rows_.rows.size(); ++i) {
            sum += rows_.rows[i].measured * padding.times[i];
        }
        return sum;
    }

    static constexpr std::int64_t lanes = 8;  // of 16 bits in one load

    const Rows& rows_;
    const model::Machine& machine_;
    WeightShapes weights_;
};

}  // namespace

std::vector<Padding> paddings_of(const Rows& rows, const model::Machine& machine) {
    return Paddings(rows, machine).find();
}

}  // namespace ridge::programs
