#include "model/machine/memory_parameters.h"

#include <string>
#include <string_view>

namespace ridge::model {
namespace {

using hardware::Description;

constexpr BytesPerCycle port_width = 64.0 * units::B / units::cycle;

/// Reads optional fields and remembers whether one was missing.
class Fields {
  public:
    explicit Fields(const Description& gpu) : gpu_(gpu) {}

    double number(std::string_view path) { return found(gpu_.number(path)); }
    double count(std::string_view path) { return static_cast<double>(found(gpu_.count(path))); }
    template <class Q>
    Q quantity(std::string_view path) {
        return found(gpu_.quantity<Q>(path));
    }
    [[nodiscard]] bool complete() const { return complete_; }

  private:
    template <class Value>
    Value found(const std::optional<Value>& value) {
        complete_ = complete_ && value.has_value();
        return value.value_or(Value{});
    }

    const Description& gpu_;
    bool complete_ = true;
};

Confidence confidence_in(const Description& gpu, std::string_view path) {
    return gpu.has_own(path) ? Confidence::calibrated : Confidence::family;
}

double lanes(const Description& gpu, std::string_view type) {
    const auto rate = gpu.quantity<FlopPerCycle>("rate.fma." + std::string(type));
    return rate ? rate->base() / 2.0 : 0.0;
}

EagerCosts resolve_eager(Fields& fields) {
    return {.launch = fields.quantity<Time>("model.eager.launch"),
            .softmax_trips = fields.number("model.eager.softmax_trips"),
            .softmax_reductions = fields.quantity<Time>("model.eager.softmax_reductions"),
            .warp_reductions = fields.quantity<Time>("model.eager.warp_reductions"),
            .norm_trips = fields.number("model.eager.norm_trips"),
            .norm_reductions = fields.quantity<Time>("model.eager.norm_reductions"),
            .drain_rows = fields.number("model.eager.drain_rows"),
            .reuse_l1 = fields.number("model.eager.reuse_l1"),
            .reuse_l2 = fields.number("model.eager.reuse_l2"),
            .reuse_steepness = fields.number("model.eager.reuse_steepness")};
}

BundledCosts resolve_bundled(Fields& fields, Frequency all) {
    return {.first_dram = fields.quantity<Time>("model.bundled.first_dram"),
            .first_l2 = fields.quantity<Time>("model.bundled.first_l2"),
            .resident = fields.number("model.bundled.resident"),
            .absorbed = fields.number("model.bundled.absorbed"),
            .reuse = fields.number("model.bundled.reuse"),
            .reduction = fields.quantity<Time>("model.bundled.reduction"),
            .vector_rate = fields.number("model.bundled.vector_rate"),
            .element_rate = fields.number("model.bundled.element_rate"),
            .element_tile = fields.quantity<Time>("model.bundled.element_tile"),
            .scatter = fields.quantity<BytesPerCycle>("model.bundled.scatter") * all,
            .scatter_tile = fields.quantity<Time>("model.bundled.scatter_tile")};
}

}  // namespace

std::optional<MemoryParameters> resolve_memory(const Description& gpu) {
    Fields fields(gpu);
    MemoryParameters memory;
    memory.sm_count = fields.count("sm.count");
    memory.clock = fields.quantity<Frequency>("clock.boost");
    memory.threads_per_sm = fields.count("limits.threads_per_sm");
    memory.blocks_per_sm = fields.count("limits.blocks_per_sm");
    memory.registers_per_sm = fields.count("limits.registers_per_sm");
    memory.shared_per_block = fields.quantity<Bytes>("shared.per_block");
    memory.fp32_lanes = lanes(gpu, "fp32");
    memory.fp64_lanes = lanes(gpu, "fp64");
    memory.special_lanes = fields.number("rate.sfu");
    memory.dram = fields.quantity<Bandwidth>("dram.bandwidth");
    memory.read_efficiency = fields.number("model.memory.read_efficiency");
    memory.write_efficiency = fields.number("model.memory.write_efficiency");
    memory.turnaround = fields.number("model.memory.turnaround");
    memory.skip = gpu.quantity<Bandwidth>("model.memory.skip").value_or(Bandwidth{});
    memory.dram_latency = fields.quantity<Time>("model.memory.dram_latency");
    memory.l2_latency = fields.quantity<Time>("model.memory.l2_latency");
    const Frequency all = memory.clock * memory.sm_count;
    memory.l2_read = fields.quantity<BytesPerCycle>("model.memory.l2_read") * all;
    memory.l2_write = fields.quantity<BytesPerCycle>("model.memory.l2_write") * all;
    memory.port = port_width * memory.clock;
    memory.l2_size = fields.quantity<Bytes>("l2.size");
    memory.l1_size = gpu.quantity<Bytes>("l1.size").value_or(Bytes{});
    memory.eager = resolve_eager(fields);
    memory.bundled = resolve_bundled(fields, all);
    if (!fields.complete() || memory.fp32_lanes <= 0.0) return std::nullopt;
    memory.launch = resolve_launch(gpu);
    memory.streams = confidence_in(gpu, "model.bundled.first_dram");
    memory.eager_kernels = confidence_in(gpu, "model.eager.softmax_trips");
    return memory;
}

}  // namespace ridge::model
