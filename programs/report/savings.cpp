#include "programs/report/savings.h"

#include <algorithm>
#include <map>
#include <string>

#include "model/expression/expression.h"
#include "model/predict.h"

namespace ridge::programs {
namespace {

/// Families whose kernels stream their data and may be fused with their neighbours.
bool streams(OperatorFamily family) {
    return family == OperatorFamily::pointwise || family == OperatorFamily::copy ||
           family == OperatorFamily::dropout || family == OperatorFamily::normalisation ||
           family == OperatorFamily::reduction || family == OperatorFamily::fill;
}

std::string short_name(const std::string& name) {
    return name.starts_with("aten::") ? name.substr(6) : name;
}

std::string with_shape(const OperatorRow& row) {
    return row.shape.empty() ? short_name(row.name) : short_name(row.name) + " " + row.shape;
}

/// Neighbouring instances in one stream, by their rows.
struct Chain {
    std::vector<std::int32_t> rows;
    std::int64_t kernels = 0;
    std::int64_t measured_ns = 0;
};

class FusionFinder {
  public:
    FusionFinder(const std::vector<Instance>& instances, Rows& rows, const model::Machine& machine)
        : rows_(rows), machine_(machine) {
        for (std::size_t i = 0; i < instances.size(); ++i) add(instances[i], rows.row_of[i]);
        for (auto& [stream, chain] : open_) close(chain);
    }

    /// The saving of each chain; its share is recorded in the rows as avoidable.
    [[nodiscard]] std::vector<Saving> savings() {
        std::vector<Saving> found;
        for (const auto& [signature, sum] : chains_) {
            const std::optional<Time> fused = fused_time(signature);
            if (!fused) continue;
            share(signature, sum, *fused);
            Saving saving{.kind = SavingKind::fusion,
                          .what = text_of(signature, sum),
                          .count = sum.count,
                          .kernels = sum.kernels,
                          .now = time_of(sum.measured_ns),
                          .then = *fused * static_cast<double>(sum.count)};
            found.push_back(std::move(saving));
        }
        return found;
    }

  private:
    struct Sum {
        std::int64_t count = 0;
        std::int64_t kernels = 0;  ///< of one occurrence
        std::int64_t measured_ns = 0;
    };

    void add(const Instance& instance, std::int32_t row) {
        Chain& chain = open_[instance.stream];
        const OperatorRow& what = rows_.rows[static_cast<std::size_t>(row)];
        const bool part = streams(what.family) && !what.driver && !what.steps.empty();
        if (!part || !fits(chain, row)) close(chain);
        if (!part) return;
        chain.rows.push_back(row);
        chain.kernels += static_cast<std::int64_t>(instance.kernels.size());
        chain.measured_ns += instance.measured_ns;
    }

    [[nodiscard]] std::int64_t elements(std::int32_t row) const {
        return rows_.understood[static_cast<std::size_t>(row)].result_elements;
    }

    /// Whether the row has the size of the largest so far, half or twice that size, or a size that
    /// differs by a factor of 32 or more: row statistics, vectors.
    [[nodiscard]] bool fits(const Chain& chain, std::int32_t row) const {
        if (chain.rows.empty()) return true;
        std::int64_t largest = 0;
        for (const std::int32_t each : chain.rows) largest = std::max(largest, elements(each));
        const std::int64_t next = elements(row);
        constexpr std::int64_t much_smaller = 32;
        return next == largest || next * 2 == largest || largest * 2 == next ||
               next * much_smaller <= largest || largest * much_smaller <= next;
    }

    void close(Chain& chain) {
        if (chain.rows.size() > 1) {
            Sum& sum = chains_[chain.rows];
            ++sum.count;
            sum.kernels = chain.kernels;
            sum.measured_ns += chain.measured_ns;
        }
        chain = {};
    }

    /// One kernel that reads and writes what the chain does, without writing and reading each
    /// result except the last, which stays in registers. (eq. S1)
    [[nodiscard]] std::optional<Time> fused_time(const std::vector<std::int32_t>& chain) const {
        double bytes = 0.0;
        double between = 0.0;
        double largest = 0.0;
        for (std::size_t i = 0; i < chain.size(); ++i) {
            const auto row = static_cast<std::size_t>(chain[i]);
            if (!rows_.rows[row].predicted) return {};
            const double moved = rows_.rows[row].answer.work.compulsory().base();
            const auto result = static_cast<double>(rows_.understood[row].result_bytes);
            bytes += moved;
            largest = std::max(largest, moved);
            if (i + 1 < chain.size()) between += 2.0 * result;
        }
        constexpr double element = 2.0;
        const double left = std::max(bytes - between, largest);
        const auto elements = static_cast<std::int64_t>(left / (2.0 * element));
        if (elements < 1) return {};
        const model::Elementwise op{.expression = model::parse_expression("x"),
                                    .elements = elements,
                                    .type = model::DataType::bf16};
        const model::Outcome outcome =
            model::predict(op, {.implementation = model::Implementation::fused}, machine_);
        const auto* prediction = std::get_if<model::Prediction>(&outcome);
        return prediction == nullptr ? std::nullopt : std::optional(prediction->time);
    }

    /// Distributes the saving of a chain over its rows, in proportion to their mean times.
    void share(const std::vector<std::int32_t>& chain, const Sum& sum, Time fused) {
        const Time now = time_of(sum.measured_ns);
        const Time then = fused * static_cast<double>(sum.count);
        if (now <= then) return;
        const auto mean = [this](std::int32_t row) {
            const OperatorRow& each = rows_.rows[static_cast<std::size_t>(row)];
            return each.measured / static_cast<double>(std::max<std::int64_t>(1, each.count));
        };
        Time all;
        for (const std::int32_t row : chain) all += mean(row);
        if (all <= Time{}) return;
        for (const std::int32_t row : chain) {
            rows_.rows[static_cast<std::size_t>(row)].avoidable += (now - then) * (mean(row) / all);
        }
    }

    [[nodiscard]] std::string text_of(const std::vector<std::int32_t>& chain,
                                      const Sum& sum) const {
        std::string names;
        constexpr std::size_t most = 9;
        for (std::size_t i = 0; i < std::min(chain.size(), most); ++i) {
            names += (names.empty() ? "" : ", ") +
                     short_name(rows_.rows[static_cast<std::size_t>(chain[i])].name);
        }
        if (chain.size() > most) names += ", ...";
        return std::to_string(sum.kernels) + " kernels as one: " + names;
    }

    Rows& rows_;
    const model::Machine& machine_;
    std::map<std::int64_t, Chain> open_;
    std::map<std::vector<std::int32_t>, Sum> chains_;
};

/// Rows that took longer than the upper end of their band.
void add_slower(const Rows& rows, std::vector<Saving>& found) {
    for (const OperatorRow& row : rows.rows) {
        if (!row.predicted || row.measured <= row.high || row.basis != Basis::shapes) continue;
        found.push_back({.kind = SavingKind::slower,
                         .what = with_shape(row),
                         .count = row.count,
                         .kernels = row.kernels / std::max<std::int64_t>(1, row.count),
                         .now = row.measured,
                         .then = *row.predicted});
    }
}

/// Copies of layout or type: an operand in the right layout and type needs none.
void add_copies(Rows& rows, std::vector<Saving>& found) {
    for (OperatorRow& row : rows.rows) {
        if (row.family != OperatorFamily::copy || row.driver || row.steps.empty()) continue;
        row.avoidable = row.measured;
        found.push_back({.kind = SavingKind::copies,
                         .what = with_shape(row),
                         .count = row.count,
                         .kernels = row.kernels / std::max<std::int64_t>(1, row.count),
                         .now = row.measured,
                         .then = Time{}});
    }
}

}  // namespace

std::vector<Saving> savings_of(const std::vector<Instance>& instances, Rows& rows,
                               const Timeline& timeline, const model::Machine& machine) {
    std::vector<Saving> found = FusionFinder(instances, rows, machine).savings();
    add_slower(rows, found);
    add_copies(rows, found);
    for (OperatorRow& row : rows.rows) row.avoidable = std::min(row.avoidable, row.measured);
    const auto add_whole = [&found](SavingKind kind, std::string what, std::int64_t count,
                                    std::int64_t nanoseconds) {
        if (nanoseconds <= 0) return;
        found.push_back({.kind = kind,
                         .what = std::move(what),
                         .count = count,
                         .now = time_of(nanoseconds),
                         .then = Time{}});
    };
    add_whole(SavingKind::idle, "the GPU waits for the host's launches", timeline.gaps,
              timeline.host_late_ns);
    add_whole(SavingKind::overlap, "communication during which nothing else runs", 1,
              timeline.communication_ns - timeline.communication_hidden_ns);
    constexpr double least = 1e-3;
    const Time floor = time_of(timeline.kernel_ns) * least;
    std::erase_if(found, [floor](const Saving& saving) { return saving.saves() <= floor; });
    std::stable_sort(found.begin(), found.end(),
                     [](const Saving& a, const Saving& b) { return a.saves() > b.saves(); });
    return found;
}

}  // namespace ridge::programs
