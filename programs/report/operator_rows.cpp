#include "programs/report/operator_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "model/predict.h"

namespace ridge::programs {
namespace {

/// The element type in a kernel's name: of lists of tensors nothing else tells it.
ElementType type_in(std::string_view kernel) {
    struct Sign {
        std::string_view text;
        ElementType type;
    };
    constexpr std::array signs{
        Sign{"BFloat16", ElementType::bf16},       Sign{"c10::Half", ElementType::fp16},
        Sign{"OpaqueType<1u>", ElementType::int8}, Sign{"OpaqueType<2u>", ElementType::bf16},
        Sign{"OpaqueType<4u>", ElementType::fp32}, Sign{"OpaqueType<8u>", ElementType::int64},
        Sign{"double", ElementType::fp64},         Sign{"float", ElementType::fp32},
        Sign{"long", ElementType::int64}};
    for (const Sign& sign : signs) {
        if (kernel.find(sign.text) != std::string_view::npos) return sign.type;
    }
    return ElementType::unknown;
}

/// Copies and fills of the driver, by their bytes.
std::optional<Understood> driver_work(const Kernel& kernel, std::string_view name) {
    if (kernel.kind == KernelKind::kernel || kernel.bytes < 1) return {};
    const bool to_host = name.find("DtoH") != std::string_view::npos;
    const bool from_host = name.find("HtoD") != std::string_view::npos;
    Understood found{.family = OperatorFamily::copy, .basis = Basis::bytes};
    if (to_host || from_host) {
        const model::Collective op{.kind = to_host ? model::CollectiveKind::device_to_host
                                                   : model::CollectiveKind::host_to_device,
                                   .gpus = 1,
                                   .bytes = kernel.bytes,
                                   .type = model::DataType::int8};
        found.steps = {{.operation = op, .execution = {}}};
    } else {
        const bool fill = kernel.kind == KernelKind::fill;
        const model::Copy op{.elements = std::max<std::int64_t>(1, kernel.bytes / (fill ? 2 : 1)),
                             .type = model::DataType::int8};
        if (fill) found.family = OperatorFamily::fill;
        found.steps = {
            {.operation = op, .execution = {.implementation = model::Implementation::torch}}};
    }
    return found;
}

class RowBuilder {
  public:
    RowBuilder(const Trace& trace, const model::Machine& machine)
        : trace_(trace), machine_(machine) {}

    void add(const Instance& instance) {
        const Kernel& first = kernel(instance.kernels.front());
        Key key{first.name, TextId::empty, true};
        if (instance.op != none) {
            const Operator& op = trace_.operators[static_cast<std::size_t>(instance.op)];
            key = {op.name, op.inputs, false};
        }
        // The shapes of an operator without recorded arguments are told apart by its kernel.
        if (key.inputs == TextId::empty) key.kernel = first.name;
        const auto [place, added] = places_.emplace(key, out_.rows.size());
        if (added) start(instance, key);
        OperatorRow& row = out_.rows[place->second];
        out_.row_of.push_back(static_cast<std::int32_t>(place->second));
        ++row.count;
        row.kernels += static_cast<std::int64_t>(instance.kernels.size());
        row.measured += time_of(instance.measured_ns);
    }

    Rows finish() {
        for (std::size_t i = 0; i < out_.rows.size(); ++i)
            predict(out_.rows[i], out_.understood[i]);
        return std::move(out_);
    }

  private:
    struct Key {
        TextId name;
        TextId inputs;
        bool loose;  ///< no operator
        TextId kernel = TextId::empty;

        friend auto operator<=>(const Key&, const Key&) = default;
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
        row.kernel = trace_.text(kernel(longest).name);
        std::optional<Understood> found;
        if (key.inputs != TextId::empty) {
            const Call call = parse_call(row.name, trace_.text(key.inputs));
            row.shape = shape_text(call);
            if (kernel(longest).kind == KernelKind::kernel || is_known(row.name)) {
                found = operations_of(call, type_in(row.kernel));
            }
        }
        if (!found) found = driver_work(kernel(longest), row.kernel);
        if (is_communication(row.kernel)) row.family = OperatorFamily::communication;
        if (found) {
            row.family = found->family;
            row.basis = found->basis;
            row.steps = found->steps;
        } else {
            row.reason = row.family == OperatorFamily::communication
                             ? "a trace does not hold the size of a collective"
                             : "no shapes were recorded (record_shapes=True)";
        }
        out_.rows.push_back(std::move(row));
        out_.understood.push_back(found.value_or(Understood{}));
    }

    void predict(OperatorRow& row, const Understood& understood) const {
        if (understood.steps.empty()) return;
        const model::WorkloadPrediction answer = model::predict(understood.steps, machine_);
        for (const model::Outcome& part : answer.parts) {
            if (const auto* unmodelled = std::get_if<model::NotModelled>(&part)) {
                row.reason = unmodelled->reason;
                return;
            }
        }
        const auto count = static_cast<double>(row.count);
        row.predicted = answer.time * count;
        row.low = answer.low * count;
        row.high = answer.high * count;
        const auto& first = std::get<model::Prediction>(answer.parts.front());
        row.lower_bound = first.lower_bound * count;
        row.bound = name_of(first.bound);
        row.limiter = name_of(first.limiter);
    }

    const Trace& trace_;
    const model::Machine& machine_;
    std::map<Key, std::size_t> places_;
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
