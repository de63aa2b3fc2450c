#include "model/machine/machine.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "hardware/error.h"
#include "hardware/schema.h"
#include "hardware/units.h"
#include "model/machine/clock.h"
#include "model/machine/features.h"
#include "model/machine/residual_parameters.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

using hardware::Description;

constexpr std::array library_table{
    parameter<&Machine::library_gap>(
        "graph_gap", ranges::span_of_time,
        "gap between library kernels of a replayed graph, in the tables to which matmul and "
        "attention are fitted",
        {Origin::measured}),
    parameter<&Machine::library_call>("call", ranges::span_of_time,
                                      "what a library's host code adds to a product's launch in an "
                                      "idle stream (B8)",
                                      {Origin::records}),
    parameter<&Machine::library_drift>("drift", ranges::share,
                                       "drift of library products and register_tiled: factor on "
                                       "the operands read again because blocks do not move in step",
                                       {Origin::measured}),
    parameter<&Machine::library_split>("longest_split", hardware::Range{1.0, 1e6},
                                       "largest number of parts into which a product's k is cut",
                                       {Origin::measured}),
    parameter<&Machine::library_cluster_tile>(
        "cluster_tile", hardware::Range{1.0, 1e6},
        "least number of elements of a product's tile whose clusters share loads of operands",
        {Origin::measured})};
constexpr auto itself = [](auto& machine) { return &machine; };
constexpr std::array library_places{
    section<Machine, itself>("library", "libraries", library_table)};

template <class Q>
Q require(const Description& gpu, std::string_view path) {
    const std::optional<Q> value = gpu.quantity<Q>(path);
    if (!value) throw InputError("GPU '" + gpu.name + "' has no " + std::string(path));
    return *value;
}

/// "9.0" as 90; 0 for anything that is not an NVIDIA compute capability.
std::int32_t capability_of(const Description& gpu) {
    const std::string text = gpu.text("architecture.compute_capability").value_or("");
    const std::size_t point = text.find('.');
    if (point == std::string::npos) return 0;
    std::int32_t major = 0;
    std::int32_t minor = 0;
    const char* const middle = text.data() + point;
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data(), middle, major).ptr != middle) return 0;
    if (std::from_chars(middle + 1, end, minor).ptr != end) return 0;
    return major * 10 + minor;
}

Family family_of(std::int32_t capability) {
    switch (capability) {
        case 35:
        case 37:
            return Family::kepler;
        case 60:
        case 61:
            return Family::pascal;
        case 70:
            return Family::volta;
        case 75:
            return Family::turing;
        case 80:
        case 86:
            return Family::ampere;
        case 89:
            return Family::ada;
        case 90:
            return Family::hopper;
        default:
            return capability >= 100 ? Family::blackwell : Family::other;
    }
}

/// The quoted peak, or per-SM rate x SMs x clock if no peak is quoted.
std::optional<FlopRate> peak_of(const Description& gpu, const std::string& pipe, DataType type,
                                std::int64_t sm_count, Frequency clock) {
    const std::string field = pipe + "." + std::string(rate_name(type));
    if (hardware::device_schema().find("peak." + field) == nullptr) return std::nullopt;
    if (const auto quoted = gpu.quantity<FlopRate>("peak." + field)) return quoted;
    if (hardware::device_schema().find("rate." + field) == nullptr) return std::nullopt;
    const auto rate = gpu.quantity<FlopPerCycle>("rate." + field);
    if (!rate || sm_count == 0 || clock <= Frequency{}) return std::nullopt;
    return *rate * clock * static_cast<double>(sm_count);
}

/// Throws an InputError for a number outside the range of its field. Files are checked when they
/// are loaded; descriptions made in memory are checked here.
void require_ranges(const Description& gpu) {
    for (const auto& [path, datum] : gpu.data) {
        // Fields of the model are checked when they are read (`section_reader.h`).
        if (path.starts_with("model.") || std::holds_alternative<hardware::InWords>(datum.value))
            continue;
        const hardware::Field* const field = hardware::device_schema().find(path);
        const auto* const count = std::get_if<std::int64_t>(&datum.value);
        const double value =
            count != nullptr ? static_cast<double>(*count) : std::get<double>(datum.value);
        if (field == nullptr || field->range.contains(value)) continue;
        throw InputError("the description of " + gpu.name + ": " + path +
                             " must lie in the range " + range_text(*field),
                         datum.location);
    }
}

/// Whether the machine has what the time models need beside their own parameters: a clock, and
/// multiprocessors that hold a block of 1024 threads of 32 registers, which is the largest of the
/// kernels that they describe. Otherwise the roofline is used.
bool has_time_models(const Machine& machine) {
    if (machine.sm_count == 0 || machine.boost_clock <= Frequency{}) return false;
    if (!machine.limits) return true;
    constexpr std::int64_t threads = 1024;
    constexpr std::int64_t registers = 32;
    const SmLimits& limits = *machine.limits;
    return limits.threads >= threads && limits.warps * limits.warp_size >= threads &&
           limits.registers >= threads * registers;
}

/// "0, 8, 16, 32 KiB": increasing sizes, with one unit at the end.
StaticVector<Bytes, 12> carveouts_of(const Description& gpu) {
    StaticVector<Bytes, 12> sizes;
    const std::string list = gpu.text("shared.carveouts").value_or("");
    const auto broken = [&](const char* why) {
        return InputError(gpu.name + ": shared.carveouts: '" + list + "' " + why, {},
                          "give up to 12 increasing sizes, such as \"0, 8, 16, 32 KiB\"");
    };
    const std::size_t unit = list.find_last_of("0123456789");
    if (unit == std::string::npos) {
        if (!list.empty()) throw broken("has no sizes");
        return sizes;
    }
    std::istringstream stream(list.substr(0, unit + 1));
    for (std::string size; std::getline(stream, size, ',');) {
        size.erase(0, size.find_first_not_of(' '));
        const auto bytes = parse_quantity<Bytes>(size + list.substr(unit + 1));
        if (sizes.full()) throw broken("has too many sizes");
        if (!sizes.empty() && bytes <= sizes[sizes.size() - 1]) throw broken("does not increase");
        sizes.push_back(bytes);
    }
    return sizes;
}

std::optional<SmLimits> limits_of(const Description& gpu) {
    const auto threads = gpu.count("limits.threads_per_sm");
    const auto warps = gpu.count("limits.warps_per_sm");
    const auto blocks = gpu.count("limits.blocks_per_sm");
    const auto registers = gpu.count("limits.registers_per_sm");
    const auto shared = gpu.quantity<Bytes>("shared.per_sm");
    if (!threads || !warps || !blocks || !registers || !shared) return std::nullopt;
    SmLimits limits;
    limits.threads = *threads;
    limits.threads_per_block =
        gpu.count("limits.threads_per_block").value_or(limits.threads_per_block);
    limits.warps = *warps;
    limits.blocks = *blocks;
    limits.registers = *registers;
    limits.registers_per_block = gpu.count("limits.registers_per_block").value_or(*registers);
    limits.partitions = gpu.count("limits.schedulers_per_sm").value_or(limits.partitions);
    limits.registers_per_thread =
        gpu.count("limits.registers_per_thread").value_or(limits.registers_per_thread);
    limits.register_unit = gpu.count("limits.register_unit").value_or(limits.register_unit);
    limits.warp_size = gpu.count("limits.warp_size").value_or(limits.warp_size);
    limits.shared = *shared;
    limits.shared_per_block = gpu.quantity<Bytes>("shared.per_block").value_or(*shared);
    limits.shared_unit = gpu.quantity<Bytes>("shared.unit").value_or(limits.shared_unit);
    limits.shared_reserved = gpu.quantity<Bytes>("shared.reserved_per_block").value_or(Bytes{});
    limits.shared_carveouts = carveouts_of(gpu);
    return limits;
}

std::optional<Bandwidth> l2_bandwidth_of(const Description& gpu, Frequency clock) {
    if (const auto per_clock = gpu.quantity<BytesPerCycle>("l2.bytes_per_clock")) {
        return *per_clock * clock;
    }
    return gpu.quantity<Bandwidth>("measured.l2.read");
}

std::optional<Time> latency_of(const Description& gpu, std::string_view path, Frequency clock) {
    const auto cycles = gpu.quantity<Cycles>(path);
    if (!cycles || clock <= Frequency{}) return std::nullopt;
    return *cycles / clock;
}

void resolve_rates(Machine& machine, const Description& gpu) {
    const auto sms = static_cast<double>(machine.sm_count);
    for (const DataType type : all_data_types) {
        const auto index = static_cast<std::size_t>(type);
        machine.tensor[index] =
            peak_of(gpu, "tensor", type, machine.sm_count, machine.tensor_clock);
        machine.vector[index] = peak_of(gpu, "fma", type, machine.sm_count, machine.boost_clock);
        machine.tensor_fp16_accumulate[index] =
            peak_of(gpu, "tensor_fp16_accumulate", type, machine.sm_count, machine.tensor_clock);
    }
    if (const auto special = gpu.number("rate.sfu"); special && machine.sm_count > 0) {
        machine.special_rate = *special * sms * machine.boost_clock.base();
    }
    if (const auto bytes = gpu.quantity<BytesPerCycle>("shared.bytes_per_clock")) {
        machine.shared_bandwidth = *bytes * machine.boost_clock * sms;
    }
    machine.l2_bandwidth = l2_bandwidth_of(gpu, machine.boost_clock);
}

Consists consists_of(const Machine& machine, const Description& gpu) {
    return {.sms = static_cast<double>(machine.sm_count),
            .clock = machine.boost_clock,
            .tensor_clock = machine.tensor_clock,
            .dram = machine.dram_bandwidth,
            .dram_latency = machine.dram_latency.value_or(Time{}),
            .watts = gpu.quantity<Power>("power.limit").value_or(Power{}),
            .tensor_peak = machine.tensor_peak(DataType::fp16).value_or(FlopRate{}),
            .vector_peak = machine.vector_peak(DataType::fp32).value_or(FlopRate{}),
            .wide_tiles = features_of(machine.compute_capability).wide_tiles,
            .laws = machine.laws};
}

}  // namespace

std::span<const Section<Machine>> library_sections() {
    return library_places;
}

Machine make_machine(const Description& gpu) {
    require_ranges(gpu);
    Machine machine;
    machine.name = gpu.name;
    machine.title = gpu.title;
    machine.compute_capability = capability_of(gpu);
    machine.family = family_of(machine.compute_capability);
    machine.sm_count = gpu.count("sm.count").value_or(0);
    machine.boost_clock = boost_clock_of(gpu);
    machine.tensor_clock = gpu.quantity<Frequency>("clock.tensor").value_or(machine.boost_clock);
    machine.dram_bandwidth = require<Bandwidth>(gpu, "dram.bandwidth");
    machine.stacked_memory = gpu.text("dram.type").value_or("").starts_with("HBM");
    machine.dram_capacity = require<Bytes>(gpu, "dram.capacity");
    machine.dram_sector = static_cast<std::int64_t>(
        gpu.quantity<Bytes>("dram.sector").value_or(32.0 * units::B).base());
    machine.dram_access = std::max(
        machine.dram_sector,
        static_cast<std::int64_t>(gpu.quantity<Bytes>("dram.access").value_or(Bytes{}).base()));
    machine.l2 = resolve_residency(gpu);
    read_section(gpu, residency_sections()[0], machine);
    resolve_rates(machine, gpu);
    machine.limits = limits_of(gpu);
    machine.dram_latency = latency_of(gpu, "latency.dram", machine.boost_clock);
    machine.l2_latency = latency_of(gpu, "latency.l2", machine.boost_clock);
    machine.l2_far_latency = latency_of(gpu, "latency.l2_far", machine.boost_clock);
    machine.l1_latency = latency_of(gpu, "latency.l1", machine.boost_clock);
    machine.kernel_floor = gpu.quantity<Time>("launch.kernel").value_or(Time{});
    read_section(gpu, law_sections()[0], machine.laws);
    machine.launch = resolve_launch(gpu, machine.laws);
    read_section(gpu, library_places[0], machine);
    read_sections(gpu, bundled_count_sections(), machine);
    machine.link_per_direction = gpu.quantity<Bandwidth>("link.per_direction");
    machine.pcie_per_direction = gpu.quantity<Bandwidth>("pcie.per_direction");
    machine.link_gpus = gpu.count("link.gpus").value_or(0);
    machine.fabric = resolve_fabric(gpu);
    machine.host_fabric = resolve_host_fabric(gpu);
    resolve_copies(gpu, machine);
    resolve_collective_kernels(gpu, machine);
    if (!has_time_models(machine)) return machine;
    const Consists consists = consists_of(machine, gpu);
    if (machine.special_rate) {
        machine.attention = attention_parameters_of(gpu, consists, machine.compute_capability);
    }
    machine.memory = resolve_memory(gpu, machine);
    if (machine.memory) resolve_torch(gpu, machine);
    resolve_torch_attention(gpu, machine);
    resolve_torch_product(gpu, machine);
    machine.matmul = read_matmul_calibration(gpu, consists);
    machine.mla = read_mla_parameters(gpu);
    machine.moe = read_moe_parameters(gpu);
    machine.power_limit = consists.watts;
    machine.energy = read_energy_parameters(gpu, consists.tensor_peak);
    machine.residuals = read_residuals(gpu);
    return machine;
}

}  // namespace ridge::model
