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
    std::vector<std::size_t> places;  ///< of the instances
    std::vector<std::int64_t> kernels;
    std::vector<std::int64_t> measured_ns;
};

class FusionFinder {
  public:
    FusionFinder(const Trace& trace, const std::vector<Instance>& instances, Rows& rows,
                 const model::Machine& machine)
        : rows_(rows), machine_(machine), flows_(flows_of(trace, instances)) {
        for (std::size_t i = 0; i < instances.size(); ++i) add(instances[i], rows.row_of[i], i);
        for (auto& [stream, chain] : open_) close(chain);
    }

    /// The saving of each chain; its share is recorded in the rows as avoidable.
    [[nodiscard]] std::vector<Saving> savings() {
        std::vector<Saving> found;
        for (const auto& [signature, sum] : chains_) {
            const std::optional<Time> fused = fused_time(signature, sum.written);
            if (!fused) continue;
            share(signature, sum, *fused);
            Saving saving{.kind = SavingKind::fusion,
                          .what = text_of(signature, sum),
                          .count = sum.count,
                          .kernels = sum.kernels,
                          .now = time_of(sum.measured_ns),
                          .then = *fused * static_cast<double>(sum.count),
                          .proven = sum.proven};
            for (const std::size_t place : sum.members) {
                saving.times.instances.emplace_back(place, saving.then / saving.now);
            }
            saving.times.instances_gone = sum.followers;
            found.push_back(std::move(saving));
        }
        return found;
    }

  private:
    struct Sum {
        std::int64_t count = 0;
        std::int64_t kernels = 0;  ///< of one occurrence
        std::int64_t measured_ns = 0;
        std::vector<bool> written{};           ///< results that others read as well
        bool proven = true;                    ///< an execution trace has all members
        std::vector<std::size_t> members{};    ///< instances of all occurrences
        std::vector<std::size_t> followers{};  ///< the same without the first of each
    };

    void add(const Instance& instance, std::int32_t row, std::size_t place) {
        Chain& chain = open_[instance.stream];
        const OperatorRow& what = rows_.rows[static_cast<std::size_t>(row)];
        const bool part = streams(what.family) && !what.driver && !what.steps.empty();
        if (!part) {
            close(chain);
            return;
        }
        chain.rows.push_back(row);
        chain.places.push_back(place);
        chain.kernels.push_back(static_cast<std::int64_t>(instance.kernels.size()));
        chain.measured_ns.push_back(instance.measured_ns);
    }

    [[nodiscard]] const Understood& understood(std::int32_t row) const {
        return rows_.understood[static_cast<std::size_t>(row)];
    }
    [[nodiscard]] TensorSize result(std::int32_t row) const {
        return {understood(row).result_elements, understood(row).result_bytes};
    }
    [[nodiscard]] bool reads(std::int32_t row, const TensorSize& size) const {
        const auto& inputs = understood(row).inputs;
        return size.elements > 1 && std::find(inputs.begin(), inputs.end(), size) != inputs.end();
    }

    static std::vector<const OperatorFlow*> flows_of(const Trace& trace,
                                                     const std::vector<Instance>& instances) {
        std::vector<const OperatorFlow*> flows;
        for (const Instance& instance : instances) {
            const bool known = instance.op != none && !trace.execution.empty();
            flows.push_back(known
                                ? trace.execution.flow_of(
                                      trace.operators[static_cast<std::size_t>(instance.op)].record)
                                : nullptr);
        }
        return flows;
    }
    static bool shares(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
        return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
    }
    /// What the instance at `later` does with the results of that at `place`: by the storages of an execution
    /// trace if it has both, else by sizes.
    enum class Touch : std::uint8_t { none, reads, overwrites };
    [[nodiscard]] Touch touch(std::size_t place, std::size_t later) const {
        const OperatorFlow* const from = flows_[place];
        const OperatorFlow* const to = flows_[later];
        if (from != nullptr && to != nullptr) {
            if (shares(from->writes, to->reads)) return Touch::reads;
            return shares(from->writes, to->writes) ? Touch::overwrites : Touch::none;
        }
        const TensorSize size = result(rows_.row_of[place]);
        if (reads(rows_.row_of[later], size)) return Touch::reads;
        return result(rows_.row_of[later]) == size ? Touch::overwrites : Touch::none;
    }

    /// The next member of the run that reads the result of member `i`: its storage, or a tensor of the same
    /// number of elements and bytes (views in between change neither). `i` if there is none nearby.
    [[nodiscard]] std::size_t reader_of(const Chain& run, std::size_t i) const {
        constexpr std::size_t nearby = 16;
        for (std::size_t j = i + 1; j < std::min(run.rows.size(), i + nearby); ++j) {
            const Touch found = touch(run.places[i], run.places[j]);
            if (found == Touch::reads) return j;
            if (found == Touch::overwrites && flows_[run.places[i]] != nullptr) return i;
        }
        return i;
    }

    /// The last member of the shortest group from `i` on in which each member but the last is read by a
    /// later one. `i` if there is none.
    [[nodiscard]] std::size_t end_of_group(const Chain& run, std::size_t i) const {
        std::size_t end = reader_of(run, i);
        for (std::size_t m = i + 1; m < end; ++m) {
            const std::size_t reader = reader_of(run, m);
            if (reader == m) return i;
            end = std::max(end, reader);
        }
        return end;
    }

    /// Whether a later kernel may read the result of the instance at `place`, besides the next one, or of
    /// an execution trace the group up to `last`: then it must be written all the same. A kernel that writes
    /// the storage, or a tensor of this size, ends the search, because later readers read its result.
    [[nodiscard]] bool is_read_later(std::size_t place, std::size_t last) const {
        const bool known = flows_[place] != nullptr;
        for (std::size_t i = place + 1; i < rows_.row_of.size(); ++i) {
            const Touch found = touch(place, i);
            if (found == Touch::reads && i > (known ? last : place + 1)) return true;
            if (found == Touch::overwrites) return false;
            if (!known && result(rows_.row_of[i]) == result(rows_.row_of[place])) return false;
        }
        return false;
    }

    /// Splits a run of streaming kernels into groups that data flow joins.
    void close(Chain& run) {
        for (std::size_t i = 0; i < run.rows.size();) {
            std::size_t last = i;
            for (std::size_t end = end_of_group(run, i); end > last;) {
                last = end;
                end = end_of_group(run, last);
            }
            if (last > i) add_group(run, i, last + 1);
            i = last + 1;
        }
        run = {};
    }

    void add_group(const Chain& run, std::size_t begin, std::size_t end) {
        const auto from = static_cast<std::ptrdiff_t>(begin);
        const auto to = static_cast<std::ptrdiff_t>(end);
        Sum& sum = chains_[{run.rows.begin() + from, run.rows.begin() + to}];
        const bool first = sum.count == 0;
        if (first) sum.kernels = 0;
        for (std::size_t i = begin; i < end; ++i) {
            if (first) sum.written.push_back(is_read_later(run.places[i], run.places[end - 1]));
            if (first) sum.kernels += run.kernels[i];
            sum.measured_ns += run.measured_ns[i];
            sum.members.push_back(run.places[i]);
            if (i > begin) sum.followers.push_back(run.places[i]);
            sum.proven = sum.proven && flows_[run.places[i]] != nullptr;
        }
        ++sum.count;
    }

    /// One kernel that reads and writes what the chain does, without reading each result except the last,
    /// and without writing those that nobody else reads. It takes no less than the arithmetic of its
    /// longest part. (eq. S1)
    [[nodiscard]] std::optional<Time> fused_time(const std::vector<std::int32_t>& chain,
                                                 const std::vector<bool>& written) const {
        double bytes = 0.0;
        double saved = 0.0;
        double largest = 0.0;
        Time computing;
        for (std::size_t i = 0; i < chain.size(); ++i) {
            const OperatorRow& row = rows_.rows[static_cast<std::size_t>(chain[i])];
            if (!row.predicted) return {};
            const double moved = row.answer.work.compulsory().base();
            const auto result_bytes = static_cast<double>(understood(chain[i]).result_bytes);
            bytes += moved;
            largest = std::max(largest, result_bytes);
            if (i + 1 < chain.size()) saved += (written[i] ? 1.0 : 2.0) * result_bytes;
            const bool memory = row.limiter == "dram" || row.limiter == "l2";
            if (!memory) {
                computing = std::max(computing, *row.predicted / static_cast<double>(row.count));
            }
        }
        constexpr double element = 2.0;
        const double left = std::max(bytes - saved, largest);
        const auto elements = static_cast<std::int64_t>(left / (2.0 * element));
        if (elements < 1) return {};
        const model::Elementwise op{.expression = model::parse_expression("x"),
                                    .elements = elements,
                                    .type = model::DataType::bf16};
        const model::Outcome outcome =
            model::predict(op, {.implementation = model::Implementation::fused}, machine_);
        const auto* prediction = std::get_if<model::Prediction>(&outcome);
        if (prediction == nullptr) return {};
        return std::max(prediction->time, computing);
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
    std::vector<const OperatorFlow*> flows_;  ///< of each instance; null: not recorded
    std::map<std::int64_t, Chain> open_;
    std::map<std::vector<std::int32_t>, Sum> chains_;
};

std::int32_t place_of(const OperatorRow& row, const Rows& rows) {
    return static_cast<std::int32_t>(&row - rows.rows.data());
}

/// Rows that took longer than the upper end of their band. A data sheet says what a GPU could reach, not
/// what its library reaches: no verdict rests on it alone. Nor on two trips to DRAM for each kernel:
/// whether its code and what it reads lie in the L2 depends on what ran before.
void add_slower(const Rows& rows, const model::Machine& machine, std::vector<Saving>& found) {
    const Time trips = 2.0 * machine.dram_latency.value_or(Time{});
    for (const OperatorRow& row : rows.rows) {
        if (!row.predicted || row.measured <= row.high || row.basis != Basis::shapes) continue;
        if (row.measured <= *row.predicted + static_cast<double>(row.kernels) * trips) continue;
        if (row.evidence < model::Grade::related) continue;
        found.push_back(
            {.kind = SavingKind::slower,
             .what = with_shape(row),
             .count = row.count,
             .kernels = row.kernels / std::max<std::int64_t>(1, row.count),
             .now = row.measured,
             .then = *row.predicted,
             .times = {.rows = {{place_of(row, rows), *row.predicted / row.measured}}}});
    }
}

/// Copies that only change the order in memory: a reader that takes the order needs none. A cast is
/// part of what is fused, and what `cat` joins must lie together.
void add_copies(Rows& rows, std::vector<Saving>& found) {
    for (OperatorRow& row : rows.rows) {
        const Understood& understood =
            rows.understood[static_cast<std::size_t>(&row - rows.rows.data())];
        if (!understood.changes_layout || row.driver || row.steps.empty()) continue;
        row.avoidable = row.measured;
        found.push_back(
            {.kind = SavingKind::copies,
             .what = with_shape(row),
             .count = row.count,
             .kernels = row.kernels / std::max<std::int64_t>(1, row.count),
             .now = row.measured,
             .then = Time{},
             .times = {.rows = {{place_of(row, rows), 0.0}}, .rows_gone = {place_of(row, rows)}}});
    }
}

}  // namespace

std::vector<Saving> savings_of(const Trace& trace, const std::vector<Instance>& instances,
                               Rows& rows, const Timeline& timeline,
                               const model::Machine& machine) {
    std::vector<Saving> found = FusionFinder(trace, instances, rows, machine).savings();
    add_slower(rows, machine, found);
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
