#include "programs/report/operator_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "model/expression/expression.h"
#include "model/predict.h"
#include "programs/aten/collective.h"
#include "programs/report/row_causes.h"

namespace ridge::programs {
namespace {

/// The element type in a kernel's name, the only source of it for lists of tensors. Of the types of C++ the first
/// counts: scalars, such as the learning rate of fused optimizers, follow in wider types.
ElementType type_in(std::string_view kernel) {
    struct Sign {
        std::string_view text;
        ElementType type;
    };
    constexpr std::array signs{
        Sign{"BFloat16", ElementType::bf16},       Sign{"c10::Half", ElementType::fp16},
        Sign{"bf16", ElementType::bf16},           Sign{"f16", ElementType::fp16},
        Sign{"_tst_", ElementType::bf16},          Sign{"_hsh_", ElementType::fp16},
        Sign{"OpaqueType<1u>", ElementType::int8}, Sign{"OpaqueType<2u>", ElementType::bf16},
        Sign{"OpaqueType<4u>", ElementType::fp32}, Sign{"OpaqueType<8u>", ElementType::int64}};
    for (const Sign& sign : signs) {
        if (kernel.find(sign.text) != std::string_view::npos) return sign.type;
    }
    constexpr std::array words{Sign{"double", ElementType::fp64}, Sign{"float", ElementType::fp32},
                               Sign{"long", ElementType::int64}};
    const auto* const first =
        std::min_element(words.begin(), words.end(), [kernel](const Sign& a, const Sign& b) {
            return kernel.find(a.text) < kernel.find(b.text);
        });
    return kernel.find(first->text) == kernel.npos ? ElementType::unknown : first->type;
}

/// The direction of a copy between the GPU and the host, as PyTorch, rocprofv3 and JAX name it; empty: the copy
/// stays on one side.
std::optional<model::CollectiveKind> crossing(std::string_view name) {
    const auto has = [name](std::string_view part) { return name.find(part) != name.npos; };
    if (has("DtoH") || has("MemcpyD2H")) return model::CollectiveKind::device_to_host;
    if (has("HtoD") || has("MemcpyH2D")) return model::CollectiveKind::host_to_device;
    return {};
}

/// Copies and fills of the driver, given by their bytes.
std::optional<Understood> driver_work(const Kernel& kernel, std::string_view name) {
    if (kernel.kind == ActivityKind::kernel || kernel.bytes < 1) return {};
    Understood found{.family = OperatorFamily::copy, .basis = Basis::bytes};
    if (const auto direction = crossing(name)) {
        found.family = OperatorFamily::other;  // no kernel can absorb it, no layout can avoid it
        const model::Collective op{
            .kind = *direction, .gpus = 1, .bytes = kernel.bytes, .type = model::DataType::int8};
        found.steps = {{.operation = op, .execution = {}}};
    } else {
        const bool fill = kernel.kind == ActivityKind::fill;
        const model::Copy op{.elements = std::max<std::int64_t>(1, kernel.bytes / (fill ? 2 : 1)),
                             .type = model::DataType::int8};
        if (fill) found.family = OperatorFamily::fill;
        found.steps = {
            {.operation = op, .execution = {.implementation = model::Implementation::torch}}};
    }
    return found;
}

/// The bytes that a kernel moved according to its counters, as one streaming kernel; nothing else
/// is known about it. They passed between DRAM and L2, so the L2 cannot serve them: it is dirty.
std::optional<Understood> counted_work(const Kernel& kernel) {
    constexpr std::int64_t element =
        2;  // read and written as pairs: only the bytes matter, not the type
    if (kernel.kind != ActivityKind::kernel || kernel.dram_bytes < 2 * element) return {};
    const model::Elementwise op{.expression = model::parse_expression("x"),
                                .elements = kernel.dram_bytes / (2 * element),
                                .type = model::DataType::bf16};
    return Understood{.steps = {{.operation = op,
                                 .execution = {.implementation = model::Implementation::fused,
                                               .l2 = model::L2State::dirty}}},
                      .family = OperatorFamily::other,
                      .basis = Basis::counters};
}

std::string unknown_reason(TraceSource recorder) {
    switch (recorder) {
        case TraceSource::pytorch:
            return "no shapes were recorded (record_shapes=True)";
        case TraceSource::nsight_compute:
            return "the file has no count of the kernel's DRAM bytes (dram__bytes.sum)";
        default:
            return "the profiler records no shapes: only the kernel's name is known";
    }
}

/// On which side of the roofline the units of a kernel stood, and which of them was busy. Both are
/// empty if the report counts too little to tell.
struct Verdict {
    std::string bound;
    std::string limiter;
};

/// A unit below 60 % of its peak does not hold a kernel back, as Nsight Compute sees it: then the
/// kernel waits for latencies. The shares are the times that its DRAM bytes and its FLOP on each
/// pipe need, of the measured time; below zero: not counted. (eq. S4)
struct Needed {
    double dram = 0.0;
    double vector = -1.0;
    double tensor = -1.0;
};
Verdict verdict_of(const KernelCounters& counted, const Needed& needed) {
    constexpr double busy = 0.6;
    const double of_dram = needed.dram;
    const double of_compute = std::max(needed.vector, needed.tensor);
    const double memory = std::max({counted.memory_throughput, counted.dram_throughput, of_dram});
    const double compute = std::max({counted.sm_throughput, counted.tensor_active, of_compute});
    if (compute < 0.0) {
        // Without the SMs' pipes only a busy DRAM says something.
        if (memory < busy) return {};
        return {.bound = std::string(name_of(model::Bound::memory)),
                .limiter = std::string(name_of(model::Resource::dram))};
    }
    const bool computes = compute > memory;
    Verdict verdict{
        .bound = std::string(name_of(computes ? model::Bound::compute : model::Bound::memory)),
        .limiter = std::string(name_of(model::Resource::latency))};
    if (std::max(compute, memory) < busy) return verdict;
    const bool tensor = std::max(counted.tensor_active, needed.tensor) >= busy;
    const bool fma = needed.vector >= busy;
    const bool dram = std::max(counted.dram_throughput, of_dram) >= busy;
    verdict.limiter = name_of(!computes ? (dram ? model::Resource::dram : model::Resource::l2)
                              : tensor  ? model::Resource::tensor
                              : fma     ? model::Resource::fma
                                        : model::Resource::issue);
    return verdict;
}

class RowBuilder {
  public:
    RowBuilder(const Trace& trace, const model::Machine& machine)
        : trace_(trace), machine_(machine), causes_(machine) {}

    void add(const Instance& instance) {
        const Kernel& first = kernel(instance.kernels.front());
        Key key{first.name, TextId::empty, true};
        if (instance.op != none) {
            const Operator& op = trace_.operators[static_cast<std::size_t>(instance.op)];
            key = {op.name, op.inputs, false};
        }
        // An operator without recorded arguments gets one row per kernel name.
        if (key.inputs == TextId::empty) {
            key.kernel = first.name;
            if (first.kind != ActivityKind::kernel) key.bytes = first.bytes;
            if (first.dram_bytes >= 0) key.grid = first.grid;
        }
        // Lists of tensors get one row per grid of their first launch.
        if (is_of_lists(first)) key.grid = first.grid;
        key.collective = first.collective;
        const auto [place, added] = places_.emplace(key, out_.rows.size());
        if (added) start(instance, key);
        OperatorRow& row = out_.rows[place->second];
        out_.row_of.push_back(static_cast<std::int32_t>(place->second));
        ++row.count;
        row.kernels += static_cast<std::int64_t>(instance.kernels.size());
        row.measured += time_of(instance.measured_ns);
        if (row.basis == Basis::counters) counted_[place->second] += first.dram_bytes;
        causes_.add(place->second, trace_, instance.kernels);
    }

    Rows finish() {
        for (const auto& [row, bytes] : counted_) {
            count_evenly(out_.rows[row], out_.understood[row], bytes);
        }
        for (std::size_t i = 0; i < out_.rows.size(); ++i) {
            predict(out_.rows[i], out_.understood[i]);
            out_.rows[i].causes = causes_.split(i);
        }
        return std::move(out_);
    }

  private:
    struct Key {
        TextId name;
        TextId inputs;
        bool loose;  ///< a kernel without an operator
        TextId kernel = TextId::empty;
        TextId collective = TextId::empty;
        std::int64_t bytes = -1;             ///< of a copy or fill without an operator
        std::array<std::int64_t, 3> grid{};  ///< of a kernel that is known only by its counters

        [[nodiscard]] auto members() const {
            return std::tie(name, inputs, loose, kernel, collective, bytes, grid);
        }
        friend bool operator<(const Key& a, const Key& b) { return a.members() < b.members(); }
    };

    [[nodiscard]] const Kernel& kernel(std::int32_t index) const {
        return trace_.kernels[static_cast<std::size_t>(index)];
    }

    void start(const Instance& instance, const Key& key) {
        const std::int32_t longest =
            *std::max_element(instance.kernels.begin(), instance.kernels.end(),
                              [this](std::int32_t a, std::int32_t b) {
                                  return kernel(a).duration_ns < kernel(b).duration_ns;
                              });
        OperatorRow row;
        row.name = trace_.text(key.name);
        row.launched = instance.op != none;
        row.kernel = trace_.text(kernel(longest).name);
        row.grid = kernel(longest).grid;
        row.block = kernel(longest).block;
        row.registers = kernel(longest).registers;
        row.shared_bytes = kernel(longest).shared_bytes;
        if (const std::int32_t counted = kernel(longest).counters; counted != none) {
            row.counters = trace_.counters[static_cast<std::size_t>(counted)];
            causes_.start(out_.rows.size(), trace_, kernel(longest));
        }
        std::optional<Understood> found;
        Call call;
        if (key.inputs != TextId::empty) {
            call = parse_call(row.name, trace_.text(key.inputs));
            row.shape = shape_text(call);
            // A copy to or from the host is the driver's, whichever operator requested it.
            row.driver =
                kernel(longest).kind == ActivityKind::copy && crossing(row.kernel).has_value();
            const bool known = kernel(longest).kind == ActivityKind::kernel || is_known(row.name);
            if (!row.driver && known) found = operations_of(call, type_in(row.kernel));
            take_blocks(found, row.name, call, instance);
            if (!found) count_for_a_fit(row, call, instance);
        }
        const bool sparse = row.kernel.find("cusparse") != std::string::npos;
        if (sparse) found.reset();
        if (is_communication(row.kernel)) {
            row.family = OperatorFamily::communication;
            found = collective_work(trace_.text(key.collective));
            if (found) row.shape = collective_text(trace_.text(key.collective));
        }
        if (!found) {
            found = driver_work(kernel(longest), row.kernel);
            row.driver = found.has_value();
        }
        if (!found) found = counted_work(kernel(longest));
        row.parts = kernel_parts(call, type_in(row.kernel), kernels_seen(instance));
        if (found) {
            Launched kernels = launched(instance);
            kernels.longest = kernel_key(row.kernel);
            take_launches(*found, kernels);
            take_kernels(*found, row.parts);
            take(row, *found);
        } else {
            row.reason = row.family == OperatorFamily::communication
                             ? "the trace does not record the size of the collective"
                         : sparse ? "the trace does not record the entries of a sparse matrix"
                         : key.inputs != TextId::empty ? "its arguments do not determine its work"
                                                       : unknown_reason(trace_.recorder);
        }
        keep(std::move(row), found.value_or(Understood{}), std::move(call));
        out_.backward.push_back(is_backward(instance));
    }

    /// Of lists of tensors the blocks say more than shapes: which launches there were, and how full they are.
    /// Where the sizes of the lists are recorded too, a law knows both.
    void take_blocks(std::optional<Understood>& found, std::string_view name, const Call& call,
                     const Instance& instance) {
        const ListSizes sizes = list_sizes(call);
        const bool lawful =
            sizes.all > 0 && found && template_of(found->law_name, LawOf::launches) != nullptr;
        if (lawful) return;
        if (auto blocks = by_blocks(instance, name, sizes)) found = std::move(blocks);
    }

    void keep(OperatorRow row, Understood understood, Call call) {
        out_.rows.push_back(std::move(row));
        out_.understood.push_back(std::move(understood));
        out_.calls.push_back(std::move(call));
    }

    /// Not a plain product (convolutions move images between layouts), and of the size of the L2's part
    /// that a program's tensors may have.
    [[nodiscard]] bool is_placed(const OperatorRow& row, const Understood& call) const {
        const bool convolves = row.name.find("conv") != std::string::npos;
        if (call.family == OperatorFamily::attention) return false;
        if (call.family == OperatorFamily::product && !convolves) return false;
        constexpr double least = 0.125;
        return call.counts[Count::bytes] >= least * machine_.l2.size.base();
    }

    /// Another thread than that of the program's first operator.
    [[nodiscard]] bool is_backward(const Instance& instance) {
        if (instance.op == none) return false;
        const std::int64_t thread = trace_.operators[static_cast<std::size_t>(instance.op)].thread;
        if (!forward_thread_) forward_thread_ = thread;
        return thread != *forward_thread_;
    }

    /// The kernels of an operator's first call, with fills and copies of the driver, which have no blocks.
    [[nodiscard]] std::vector<KernelSeen> kernels_seen(const Instance& instance) const {
        const auto volume = [](const std::array<std::int64_t, 3>& sizes) {
            std::int64_t all = 1;
            for (const std::int64_t size : sizes) {
                all *= std::clamp<std::int64_t>(size, 1, std::int64_t{1} << 20U);
            }
            return all;
        };
        std::vector<KernelSeen> seen;
        for (const std::int32_t index : instance.kernels) {
            const Kernel& each = kernel(index);
            KernelSeen one{.name = trace_.text(each.name), .measured = time_of(each.duration_ns)};
            if (each.kind == ActivityKind::kernel) {
                one.blocks = volume(each.grid);
                one.plane = each.grid[1] > 1;
                one.threads = one.blocks * std::min<std::int64_t>(volume(each.block), 1024);
            }
            seen.push_back(one);
        }
        return seen;
    }

    [[nodiscard]] Launched launched(const Instance& instance) const {
        Launched sum;
        Time longest;
        for (const KernelSeen& each : kernels_seen(instance)) {
            if (each.blocks == 0) continue;
            if (each.measured > longest) {
                longest = each.measured;
                sum.longest_blocks = each.blocks;
                sum.plane = each.plane;
            }
            ++sum.launches;
            sum.blocks += each.blocks;
            sum.threads += each.threads;
        }
        return sum;
    }

    /// What an operator without a prediction goes through, from which a law can be fitted.
    void count_for_a_fit(OperatorRow& row, const Call& call, const Instance& instance) const {
        const ElementType type = type_in(row.kernel);
        row.counts = counts_of(call, type);
        row.law = law_name(call, bare_operator(row.name), type);
        add_launches(row.counts, launched(instance));
    }

    void take(OperatorRow& row, const Understood& found) const {
        row.family = found.family;
        row.basis = found.basis;
        row.steps = found.steps;
        row.counts = found.counts;
        row.law = found.law_name;
        row.placed = is_placed(row, found);
    }

    /// Each name is searched only once: a trace has many kernels but few names.
    [[nodiscard]] bool is_of_lists(const Kernel& kernel) {
        const auto [found, added] = of_lists_.emplace(kernel.name, false);
        if (added) {
            found->second =
                trace_.text(kernel.name).find("multi_tensor_apply") != std::string::npos;
        }
        return found->second;
    }

    /// Lists of tensors, understood from the blocks of their kernels.
    [[nodiscard]] std::optional<Understood> by_blocks(const Instance& instance,
                                                      std::string_view name,
                                                      const ListSizes& sizes) {
        std::vector<std::int64_t> blocks;
        for (const std::int32_t index : instance.kernels) {
            if (!is_of_lists(kernel(index))) continue;  // a sum over the results of all blocks
            blocks.push_back(kernel(index).grid[0]);
        }
        return lists_by_blocks(name, blocks,
                               type_in(trace_.text(kernel(instance.kernels.front()).name)), sizes);
    }

    /// The launches of a kernel move slightly different amounts: all are predicted with the mean.
    static void count_evenly(OperatorRow& row, Understood& understood, std::int64_t bytes) {
        if (auto found = counted_work({.dram_bytes = bytes / row.count})) {
            row.steps = understood.steps = found->steps;
        }
    }

    void predict(OperatorRow& row, const Understood& understood) const {
        if (row.steps.empty()) return;
        CallPrediction one = programs::predict(understood, machine_);
        if (!one.reason.empty()) {
            row.reason = std::move(one.reason);
            return;
        }
        const auto count = static_cast<double>(row.count);
        row.predicted = one.answer.time * count;
        row.low = one.answer.low * count;
        row.high = one.answer.high * count;
        row.lower_bound = one.lower_bound * count;
        row.rule = one.rule * count;
        row.bound = one.bound;
        row.limiter = one.limiter;
        row.evidence = one.answer.grade;
        if (row.basis != Basis::shapes) {
            row.evidence = std::min(row.evidence, model::Grade::related);
        }
        if (row.basis == Basis::counters) settle_counted(row, one.answer.work.compulsory());
        if (row.measured > *row.predicted) row.slower = row.measured - *row.predicted;
        row.answer = std::move(one.answer);
    }

    /// What the counters say about the limit and about what keeps the kernel busy. (eq. S4)
    void settle_counted(OperatorRow& row, Bytes moved) const {
        const auto count = static_cast<double>(row.count);
        const Time dram = moved / machine_.dram_bandwidth * count;
        row.lower_bound = std::max(row.lower_bound, dram);
        row.predicted = std::max(*row.predicted, row.lower_bound);
        row.low = std::max(row.low, row.lower_bound);
        row.high = std::max(row.high, *row.predicted);
        const KernelCounters counted = row.counters.value_or(KernelCounters{});
        const Computing computing = add_counted_work(row, counted);
        Needed needed;
        if (row.measured > Time{}) {
            needed.dram = dram / row.measured;
            if (counted.vector_flop >= 0.0) needed.vector = computing.vector / row.measured;
            if (counted.tensor_flop >= 0.0) needed.tensor = computing.tensor / row.measured;
        }
        const Verdict verdict = verdict_of(counted, needed);
        row.bound = verdict.bound;
        row.limiter = verdict.limiter;
    }

    struct Computing {
        Time vector;
        Time tensor;
    };
    /// The times of the counted FLOP at the peaks of the machine; the row takes the longer one if
    /// it is longer than that of the bytes. (eq. S4)
    [[nodiscard]] Computing add_counted_work(OperatorRow& row,
                                             const KernelCounters& counted) const {
        const auto time_at = [&row](double flop, const std::optional<FlopRate>& peak) {
            if (flop <= 0.0 || !peak || *peak <= FlopRate{}) return Time{};
            return Flop::from_base(flop) / *peak * static_cast<double>(row.count);
        };
        const Time vector =
            time_at(counted.vector_flop, machine_.vector_peak(model::DataType::fp32));
        const Time tensor =
            time_at(counted.tensor_flop, machine_.tensor_peak(model::DataType::bf16));
        // The counters do not say in which type the tensor cores multiplied: the limit takes the
        // fastest.
        const Time least = std::max(vector, time_at(counted.tensor_flop, fastest_tensor_peak()));
        row.lower_bound = std::max(row.lower_bound, least);
        const Time compute = std::max(vector, tensor);
        if (compute <= *row.predicted) return {vector, tensor};
        row.predicted = compute;
        row.low = std::max(least, row.low);
        row.high = std::max(row.high, compute);
        return {vector, tensor};
    }

    [[nodiscard]] std::optional<FlopRate> fastest_tensor_peak() const {
        std::optional<FlopRate> fastest;
        for (const std::optional<FlopRate>& each : machine_.tensor) {
            if (each && (!fastest || *each > *fastest)) fastest = each;
        }
        return fastest;
    }

    const Trace& trace_;
    const model::Machine& machine_;
    std::map<Key, std::size_t> places_;
    std::map<TextId, bool> of_lists_;              ///< by kernel name
    std::map<std::size_t, std::int64_t> counted_;  ///< DRAM bytes of rows with Basis::counters
    RowCauses causes_;
    std::optional<std::int64_t> forward_thread_;
    Rows out_;
};

}  // namespace

Rows rows_of(const Trace& trace, const std::vector<Instance>& instances,
             const model::Machine& machine) {
    RowBuilder builder(trace, machine);
    for (const Instance& instance : instances) builder.add(instance);
    return builder.finish();
}

}  // namespace ridge::programs
