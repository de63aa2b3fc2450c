#include "hardware/schema.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <utility>

#include "hardware/error.h"
#include "hardware/nearest.h"
#include "hardware/units.h"

namespace ridge::hardware {
namespace {

constexpr Presence optional = Presence::optional;
constexpr Presence required = Presence::required_for_gpu;

struct FieldRow {
    std::string_view path;
    ValueKind kind = ValueKind::quantity;
    Dimension dimension;
    Presence presence = Presence::optional;
    std::string_view meaning;
};

// clang-format off
constexpr auto device_facts = std::to_array<FieldRow>({
    {"architecture.name", ValueKind::text, dimensionless, required, "family and chip, such as Hopper GH100"},
    {"architecture.compute_capability", ValueKind::text, dimensionless, optional, "CUDA compute capability, such as 9.0"},
    {"architecture.target", ValueKind::text, dimensionless, optional, "compiler target of a GPU without compute capability, such as gfx942"},
    {"product.announced", ValueKind::text, dimensionless, optional, "year and month in which the vendor announced it, such as 2022-03"},
    {"price.hour", ValueKind::number, dimensionless, optional, "US dollars for one GPU and hour, on demand, at one provider on one day (the source says which)"},
    {"sm.count", ValueKind::count, dimensionless, required, "enabled multiprocessors (compute units)"},
    {"sm.full_die", ValueKind::count, dimensionless, optional, "multiprocessors on the full die"},
    {"mig.sms", ValueKind::text, dimensionless, optional, "multiprocessors of each MIG slice: 1g=16 2g=32 ..."},
    {"clock.base", ValueKind::quantity, Frequency::dimension, optional, "guaranteed clock"},
    {"clock.boost", ValueKind::quantity, Frequency::dimension, optional, "highest clock; FMA peaks and fp64 tensor peaks are quoted at it"},
    {"clock.tensor", ValueKind::quantity, Frequency::dimension, optional, "clock at which the tensor peaks are quoted, if it is not the boost clock"},
    {"clock.l2", ValueKind::quantity, Frequency::dimension, optional, "clock of the L2 cache, if it has its own"},
    {"rate.fma.fp64", ValueKind::quantity, FlopPerCycle::dimension, optional, "fp64 FLOP per cycle and multiprocessor outside the tensor cores; an FMA counts 2"},
    {"rate.fma.fp32", ValueKind::quantity, FlopPerCycle::dimension, optional, "fp32 FLOP per cycle and multiprocessor outside the tensor cores; an FMA counts 2"},
    {"rate.fma.fp16", ValueKind::quantity, FlopPerCycle::dimension, optional, "fp16 FLOP per cycle and multiprocessor outside the tensor cores; an FMA counts 2"},
    {"rate.fma.bf16", ValueKind::quantity, FlopPerCycle::dimension, optional, "bf16 FLOP per cycle and multiprocessor outside the tensor cores; an FMA counts 2"},
    {"rate.fma.int32", ValueKind::quantity, FlopPerCycle::dimension, optional, "int32 additions per cycle and multiprocessor; each counts as one operation"},
    {"rate.tensor.fp64", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense fp64 tensor rate per cycle and multiprocessor, accumulating in fp64"},
    {"rate.tensor.fp32", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense fp32 tensor rate per cycle and multiprocessor, accumulating in fp32"},
    {"rate.tensor.tf32", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense tf32 tensor rate per cycle and multiprocessor, accumulating in fp32"},
    {"rate.tensor.fp16", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense fp16 tensor rate per cycle and multiprocessor, accumulating in fp32"},
    {"rate.tensor.bf16", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense bf16 tensor rate per cycle and multiprocessor, accumulating in fp32"},
    {"rate.tensor.fp8", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense fp8 tensor rate per cycle and multiprocessor, accumulating in fp32"},
    {"rate.tensor.int8", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense int8 tensor rate per cycle and multiprocessor, accumulating in int32"},
    {"rate.tensor.fp6", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense fp6 tensor rate per cycle and multiprocessor, accumulating in fp32"},
    {"rate.tensor.fp4", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense fp4 tensor rate per cycle and multiprocessor, accumulating in fp32"},
    {"rate.tensor.int4", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense int4 tensor rate per cycle and multiprocessor, accumulating in int32"},
    {"rate.tensor_fp16_accumulate.fp16", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense fp16 tensor rate per cycle and multiprocessor, accumulating in fp16"},
    {"rate.tensor_fp16_accumulate.fp8", ValueKind::quantity, FlopPerCycle::dimension, optional, "dense fp8 tensor rate per cycle and multiprocessor, accumulating in fp16"},
    {"rate.sfu", ValueKind::number, dimensionless, optional, "special functions (exp2, rcp, sin ...) per cycle and multiprocessor"},
    {"rate.load_store", ValueKind::number, dimensionless, optional, "load/store lanes per cycle and multiprocessor"},
    {"peak.fma.fp64", ValueKind::quantity, FlopRate::dimension, optional, "quoted fp64 peak outside the tensor cores"},
    {"peak.fma.fp32", ValueKind::quantity, FlopRate::dimension, optional, "quoted fp32 peak outside the tensor cores"},
    {"peak.fma.fp16", ValueKind::quantity, FlopRate::dimension, optional, "quoted fp16 peak outside the tensor cores"},
    {"peak.fma.bf16", ValueKind::quantity, FlopRate::dimension, optional, "quoted bf16 peak outside the tensor cores"},
    {"peak.tensor.fp64", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense fp64 tensor peak, accumulating in fp64"},
    {"peak.tensor.fp32", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense fp32 tensor peak, accumulating in fp32"},
    {"peak.tensor.tf32", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense tf32 tensor peak, accumulating in fp32"},
    {"peak.tensor.fp16", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense fp16 tensor peak, accumulating in fp32"},
    {"peak.tensor.bf16", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense bf16 tensor peak, accumulating in fp32"},
    {"peak.tensor.fp8", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense fp8 tensor peak, accumulating in fp32"},
    {"peak.tensor.int8", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense int8 tensor peak, accumulating in int32"},
    {"peak.tensor.fp6", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense fp6 tensor peak, accumulating in fp32"},
    {"peak.tensor.fp4", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense fp4 tensor peak, accumulating in fp32"},
    {"peak.tensor.int4", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense int4 tensor peak, accumulating in int32"},
    {"peak.tensor_fp16_accumulate.fp16", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense fp16 tensor peak, accumulating in fp16"},
    {"peak.tensor_fp16_accumulate.fp8", ValueKind::quantity, FlopRate::dimension, optional, "quoted dense fp8 tensor peak, accumulating in fp16"},
    {"sparsity.factor", ValueKind::number, dimensionless, optional, "speed-up of the tensor cores with 2:4 structured sparsity; no peak here includes it"},
    {"limits.schedulers_per_sm", ValueKind::count, dimensionless, optional, "warp schedulers per multiprocessor"},
    {"limits.threads_per_sm", ValueKind::count, dimensionless, optional, "maximum resident threads per multiprocessor"},
    {"limits.warps_per_sm", ValueKind::count, dimensionless, optional, "maximum resident warps per multiprocessor"},
    {"limits.blocks_per_sm", ValueKind::count, dimensionless, optional, "maximum resident blocks per multiprocessor"},
    {"limits.threads_per_block", ValueKind::count, dimensionless, optional, "maximum threads per block"},
    {"limits.warp_size", ValueKind::count, dimensionless, required, "threads that run in step (warp, wavefront)"},
    {"limits.registers_per_sm", ValueKind::count, dimensionless, optional, "32-bit registers per multiprocessor"},
    {"limits.registers_per_block", ValueKind::count, dimensionless, optional, "32-bit registers that one block can use, if fewer than the multiprocessor has"},
    {"limits.registers_per_thread", ValueKind::count, dimensionless, optional, "32-bit registers that one thread can use"},
    {"limits.register_unit", ValueKind::count, dimensionless, optional, "registers are allocated to a warp in multiples of this"},
    {"shared.per_sm", ValueKind::quantity, Bytes::dimension, optional, "shared memory (LDS) of a multiprocessor, for all its blocks"},
    {"shared.per_block", ValueKind::quantity, Bytes::dimension, optional, "shared memory that one block can opt in to"},
    {"shared.static_per_block", ValueKind::quantity, Bytes::dimension, optional, "shared memory that a block can use without opting in"},
    {"shared.unit", ValueKind::quantity, Bytes::dimension, optional, "shared memory is allocated in multiples of this"},
    {"shared.reserved_per_block", ValueKind::quantity, Bytes::dimension, optional, "shared memory that the driver reserves in every block"},
    {"shared.carveouts", ValueKind::text, dimensionless, optional, "sizes of shared memory that the driver can carve out of the L1, such as 0, 8, 16, 32 KiB"},
    {"shared.banks", ValueKind::count, dimensionless, optional, "banks of the shared memory"},
    {"shared.bank_width", ValueKind::quantity, Bytes::dimension, optional, "width of one bank"},
    {"shared.bytes_per_clock", ValueKind::quantity, BytesPerCycle::dimension, optional, "shared-memory bandwidth of a multiprocessor"},
    {"l1.size", ValueKind::quantity, Bytes::dimension, optional, "L1 cache of a multiprocessor; includes the shared memory if the two are unified"},
    {"l2.size", ValueKind::quantity, Bytes::dimension, optional, "L2 cache"},
    {"l2.partitions", ValueKind::count, dimensionless, optional, "partitions of the L2, each nearer to some of the multiprocessors"},
    {"l2.slices", ValueKind::count, dimensionless, optional, "slices of the L2"},
    {"l2.slice_size", ValueKind::quantity, Bytes::dimension, optional, "capacity of one slice"},
    {"l2.slice_bytes_per_clock", ValueKind::quantity, BytesPerCycle::dimension, optional, "read bandwidth of one slice"},
    {"l2.bytes_per_clock", ValueKind::quantity, BytesPerCycle::dimension, optional, "read bandwidth of the whole L2"},
    {"l3.size", ValueKind::quantity, Bytes::dimension, optional, "memory-side cache behind the L2 (Infinity Cache)"},
    {"dram.capacity", ValueKind::quantity, Bytes::dimension, required, "memory capacity as the driver reports it if known, otherwise the nominal capacity"},
    {"dram.capacity_nominal", ValueKind::quantity, Bytes::dimension, optional, "nominal capacity, as sold"},
    {"dram.usable", ValueKind::quantity, Bytes::dimension, optional, "memory that is free after a process has created its context"},
    {"dram.bandwidth", ValueKind::quantity, Bandwidth::dimension, required, "theoretical bandwidth"},
    {"dram.type", ValueKind::text, dimensionless, optional, "kind of memory, such as HBM3 or GDDR6"},
    {"dram.bus_width", ValueKind::count, dimensionless, optional, "data pins (bits) of the memory bus"},
    {"dram.clock", ValueKind::quantity, Frequency::dimension, optional, "memory clock; two transfers per clock unless dram.data_rate says otherwise"},
    {"dram.data_rate", ValueKind::quantity, Frequency::dimension, optional, "transfers per second of one pin"},
    {"dram.sector", ValueKind::quantity, Bytes::dimension, optional, "smallest unit that the caches fetch"},
    {"dram.line", ValueKind::quantity, Bytes::dimension, optional, "cache line"},
    {"dram.access", ValueKind::quantity, Bytes::dimension, optional, "smallest unit that the DRAM itself delivers"},
    {"latency.l1", ValueKind::quantity, Cycles::dimension, optional, "load that hits in the L1"},
    {"latency.shared", ValueKind::quantity, Cycles::dimension, optional, "load from shared memory"},
    {"latency.l2", ValueKind::quantity, Cycles::dimension, optional, "load that hits in the (near) L2"},
    {"latency.l2_far", ValueKind::quantity, Cycles::dimension, optional, "load that hits in the far L2 partition"},
    {"latency.dram", ValueKind::quantity, Cycles::dimension, optional, "load that DRAM serves"},
    {"link.name", ValueKind::text, dimensionless, optional, "link between devices, such as NVLink4"},
    {"link.gpus", ValueKind::count, dimensionless, optional, "devices that the links connect; larger groups communicate over PCIe"},
    {"link.links", ValueKind::count, dimensionless, optional, "links per device"},
    {"link.per_link_per_direction", ValueKind::quantity, Bandwidth::dimension, optional, "one link, one way"},
    {"link.per_direction", ValueKind::quantity, Bandwidth::dimension, optional, "all links together, one way"},
    {"link.total", ValueKind::quantity, Bandwidth::dimension, optional, "all links, both ways added, as vendors quote it"},
    {"pcie.generation", ValueKind::count, dimensionless, optional, "PCIe generation"},
    {"pcie.lanes", ValueKind::count, dimensionless, optional, "PCIe lanes"},
    {"pcie.per_direction", ValueKind::quantity, Bandwidth::dimension, optional, "nominal PCIe bandwidth one way"},
    {"power.limit", ValueKind::quantity, Power::dimension, optional, "board power limit"},
    {"power.design", ValueKind::quantity, Power::dimension, optional, "limit that the GPU is made for, if power.limit is a lower cap"},
    {"power.idle", ValueKind::quantity, Power::dimension, optional, "power between kernels, clocks up"},
    {"launch.kernel", ValueKind::quantity, Time::dimension, optional, "device time of an empty kernel"},
    {"launch.graph", ValueKind::quantity, Time::dimension, optional, "time per kernel when empty kernels follow each other in a replayed graph"},
    {"launch.stream", ValueKind::quantity, Time::dimension, optional, "time per kernel when empty kernels are launched back to back in a stream"},
    {"launch.call", ValueKind::quantity, Time::dimension, optional, "time of one empty kernel launched into an idle stream, between two events"},
    {"launch.submit", ValueKind::quantity, Time::dimension, optional, "host time to launch one kernel"},
    {"measured.dram.read", ValueKind::quantity, Bandwidth::dimension, optional, "highest DRAM bandwidth reached when reading"},
    {"measured.dram.write", ValueKind::quantity, Bandwidth::dimension, optional, "highest DRAM bandwidth reached when writing"},
    {"measured.dram.copy", ValueKind::quantity, Bandwidth::dimension, optional, "highest DRAM bandwidth reached when copying, both directions counted"},
    {"measured.dram.triad", ValueKind::quantity, Bandwidth::dimension, optional, "highest DRAM bandwidth reached by a triad (two reads, one write), all three counted"},
    {"measured.dram.latency", ValueKind::quantity, Time::dimension, optional, "fitted: time of a transfer too small to be bound by bandwidth"},
    {"measured.dram.in_flight", ValueKind::quantity, Bytes::dimension, optional, "fitted: bytes in flight that DRAM bandwidth needs (latency x bandwidth)"},
    {"measured.dram.ramp_exponent", ValueKind::number, dimensionless, optional, "fitted: how sharply latency gives way to bandwidth as transfers grow"},
    {"measured.l1.read", ValueKind::quantity, Bandwidth::dimension, optional, "highest L1 read bandwidth reached, all multiprocessors"},
    {"measured.l2.read", ValueKind::quantity, Bandwidth::dimension, optional, "highest L2 read bandwidth reached"},
    {"measured.l2.bytes_per_clock", ValueKind::quantity, BytesPerCycle::dimension, optional, "highest L2 read bandwidth reached, per cycle"},
    {"measured.shared.read", ValueKind::quantity, Bandwidth::dimension, optional, "highest shared-memory bandwidth reached, all multiprocessors"},
    {"measured.shared.bytes_per_clock", ValueKind::quantity, BytesPerCycle::dimension, optional, "highest shared-memory bandwidth reached, per cycle and multiprocessor"},
    {"measured.fma.fp64", ValueKind::quantity, FlopRate::dimension, optional, "highest fp64 rate reached outside the tensor cores"},
    {"measured.fma.fp32", ValueKind::quantity, FlopRate::dimension, optional, "highest fp32 rate reached outside the tensor cores"},
    {"measured.fma.fp16", ValueKind::quantity, FlopRate::dimension, optional, "highest fp16 rate reached outside the tensor cores"},
    {"measured.tensor.fp64.burst", ValueKind::quantity, FlopRate::dimension, optional, "fp64 tensor rate of short kernels, before power limits act"},
    {"measured.tensor.fp64.sustained", ValueKind::quantity, FlopRate::dimension, optional, "fp64 tensor rate held for seconds"},
    {"measured.tensor.tf32.burst", ValueKind::quantity, FlopRate::dimension, optional, "tf32 tensor rate of short kernels, before power limits act"},
    {"measured.tensor.tf32.sustained", ValueKind::quantity, FlopRate::dimension, optional, "tf32 tensor rate held for seconds"},
    {"measured.tensor.fp16.burst", ValueKind::quantity, FlopRate::dimension, optional, "fp16 tensor rate of short kernels, before power limits act"},
    {"measured.tensor.fp16.sustained", ValueKind::quantity, FlopRate::dimension, optional, "fp16 tensor rate held for seconds"},
    {"measured.tensor.bf16.burst", ValueKind::quantity, FlopRate::dimension, optional, "bf16 tensor rate of short kernels, before power limits act"},
    {"measured.tensor.bf16.sustained", ValueKind::quantity, FlopRate::dimension, optional, "bf16 tensor rate held for seconds"},
    {"measured.tensor.fp8.burst", ValueKind::quantity, FlopRate::dimension, optional, "fp8 tensor rate of short kernels, before power limits act"},
    {"measured.tensor.fp8.sustained", ValueKind::quantity, FlopRate::dimension, optional, "fp8 tensor rate held for seconds"},
    {"measured.tensor.int8.burst", ValueKind::quantity, FlopRate::dimension, optional, "int8 tensor rate of short kernels, before power limits act"},
    {"measured.tensor.int8.sustained", ValueKind::quantity, FlopRate::dimension, optional, "int8 tensor rate held for seconds"},
    {"measured.tensor.fp4.burst", ValueKind::quantity, FlopRate::dimension, optional, "fp4 tensor rate of short kernels, before power limits act"},
    {"measured.tensor.fp4.sustained", ValueKind::quantity, FlopRate::dimension, optional, "fp4 tensor rate held for seconds"},
    {"measured.tensor_mma.fp64.burst", ValueKind::quantity, FlopRate::dimension, optional, "fp64 rate through the older mma instruction, short kernels"},
    {"measured.tensor_mma.fp64.sustained", ValueKind::quantity, FlopRate::dimension, optional, "fp64 rate through the older mma instruction, held for seconds"},
    {"measured.tensor_mma.tf32.burst", ValueKind::quantity, FlopRate::dimension, optional, "tf32 rate through the older mma instruction, short kernels"},
    {"measured.tensor_mma.tf32.sustained", ValueKind::quantity, FlopRate::dimension, optional, "tf32 rate through the older mma instruction, held for seconds"},
    {"measured.tensor_mma.fp16.burst", ValueKind::quantity, FlopRate::dimension, optional, "fp16 rate through the older mma instruction, short kernels"},
    {"measured.tensor_mma.fp16.sustained", ValueKind::quantity, FlopRate::dimension, optional, "fp16 rate through the older mma instruction, held for seconds"},
    {"measured.tensor_mma.bf16.burst", ValueKind::quantity, FlopRate::dimension, optional, "bf16 rate through the older mma instruction, short kernels"},
    {"measured.tensor_mma.bf16.sustained", ValueKind::quantity, FlopRate::dimension, optional, "bf16 rate through the older mma instruction, held for seconds"},
    {"measured.tensor_mma.fp8.burst", ValueKind::quantity, FlopRate::dimension, optional, "fp8 rate through the older mma instruction, short kernels"},
    {"measured.tensor_mma.fp8.sustained", ValueKind::quantity, FlopRate::dimension, optional, "fp8 rate through the older mma instruction, held for seconds"},
    {"measured.tensor_mma.int8.burst", ValueKind::quantity, FlopRate::dimension, optional, "int8 rate through the older mma instruction, short kernels"},
    {"measured.tensor_mma.int8.sustained", ValueKind::quantity, FlopRate::dimension, optional, "int8 rate through the older mma instruction, held for seconds"},
    {"measured.gemm.fp64", ValueKind::quantity, FlopRate::dimension, optional, "best fp64 matrix product of a vendor library, random data"},
    {"measured.gemm.tf32", ValueKind::quantity, FlopRate::dimension, optional, "best tf32 matrix product of a vendor library, random data"},
    {"measured.gemm.fp16", ValueKind::quantity, FlopRate::dimension, optional, "best fp16 matrix product of a vendor library, random data"},
    {"measured.gemm.bf16", ValueKind::quantity, FlopRate::dimension, optional, "best bf16 matrix product of a vendor library, random data"},
    {"measured.gemm.fp8", ValueKind::quantity, FlopRate::dimension, optional, "best fp8 matrix product of a vendor library, random data"},
    {"measured.gemm.int8", ValueKind::quantity, FlopRate::dimension, optional, "best int8 matrix product of a vendor library, random data"},
    {"measured.gemm.fp4", ValueKind::quantity, FlopRate::dimension, optional, "best fp4 matrix product of a vendor library, random data"},
    {"measured.sfu", ValueKind::number, dimensionless, optional, "highest special-function rate reached, per cycle and multiprocessor"},
    {"measured.clock.tensor", ValueKind::quantity, Frequency::dimension, optional, "multiprocessor clock observed in tensor kernels"},
    {"measured.clock.fma", ValueKind::quantity, Frequency::dimension, optional, "multiprocessor clock observed in kernels without tensor work"},
    {"measured.clock.memory", ValueKind::quantity, Frequency::dimension, optional, "multiprocessor clock observed in memory-bound kernels"},
});
// clang-format on

/// Range of a device fact: wide enough for any machine, but narrow enough that a wrong prefix does
/// not lead to a division by zero.
Range plausible(const FieldRow& row) {
    struct Limits {
        Dimension dimension;
        Range range;
    };
    constexpr auto limits =
        std::to_array<Limits>({{Bytes::dimension, {1.0, 1024.0 * 1125899906842624.0}},
                               {Bandwidth::dimension, {1.0, 1e18}},
                               {FlopRate::dimension, {1.0, 1e24}},
                               {FlopPerCycle::dimension, {1e-3, 1e9}},
                               {BytesPerCycle::dimension, {1e-3, 1e9}},
                               {Frequency::dimension, {1e3, 1e13}},
                               {Cycles::dimension, {1e-3, 1e9}},
                               {Time::dimension, {1e-12, 1e3}},
                               {Power::dimension, {1e-3, 1e9}}});
    // Grids, and lessons with one point per number of blocks, grow with the multiprocessors.
    if (row.path == std::string_view("sm.count")) return {1.0, 65536.0};
    if (row.kind == ValueKind::count) return {1.0, 9007199254740992.0};
    if (row.kind == ValueKind::number) return {1e-6, 1e9};
    const auto* const found = std::find_if(limits.begin(), limits.end(), [&](const Limits& each) {
        return each.dimension == row.dimension;
    });
    return found == limits.end() ? Range{} : found->range;
}

std::vector<Field> device_fields() {
    std::vector<Field> fields;
    fields.reserve(device_facts.size());
    for (const FieldRow& row : device_facts) {
        fields.push_back({.path = std::string(row.path),
                          .kind = row.kind,
                          .dimension = row.dimension,
                          .presence = row.presence,
                          .title = {},
                          .meaning = row.meaning,
                          .range = plausible(row)});
    }
    return fields;
}

}  // namespace

std::string meaning_of(const Field& field) {
    std::string text(field.title);
    if (!text.empty()) text += ": ";
    return text += field.meaning;
}

namespace {

constexpr std::size_t most_made = 65536;

std::string_view next_part(std::string_view& path) {
    const std::size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
    return part;
}

/// Whether a path is one of the pattern's, or the beginning of one.
enum class Match { none, begins, whole };

Match matched(std::string_view pattern, std::string_view path) {
    while (!pattern.empty() && !path.empty()) {
        const std::string_view wanted = next_part(pattern);
        const std::string_view part = next_part(path);
        if (wanted != "*" && wanted != part) return Match::none;
    }
    if (!path.empty()) return Match::none;
    return pattern.empty() ? Match::whole : Match::begins;
}

/// The pattern with the names of a path in the place of its parts `*`; "" if it has too few parts.
std::string named_like(std::string_view pattern, std::string_view path) {
    std::string text;
    while (!pattern.empty()) {
        const std::string_view wanted = next_part(pattern);
        const std::string_view part = next_part(path);
        if (part.empty()) return {};
        if (!text.empty()) text += '.';
        text += wanted == "*" ? part : wanted;
    }
    return text;
}

}  // namespace

bool is_pattern(std::string_view path) {
    return path.find('*') != std::string_view::npos;
}

Schema::Content::Content(std::vector<Field> all)
    : fields(std::move(all)), slots(std::bit_ceil(4 * fields.size() + 1)) {
    std::string_view section;
    for (const Field& field : fields) {
        const std::string_view path = field.path;
        Known& own = enter(path);
        RIDGE_CONTRACT(own.field == nullptr);
        own.field = &field;
        if (is_pattern(path)) patterns.push_back(&field);
        const std::string_view above = path.substr(0, path.rfind('.'));
        if (above == section) continue;
        section = above;
        for (std::size_t dot = path.find('.'); dot != std::string_view::npos;
             dot = path.find('.', dot + 1)) {
            enter(path.substr(0, dot)).section = true;
        }
    }
}

/// The slot of the path, or the one where it would be added.
std::size_t Schema::Content::slot_of(std::string_view path) const {
    const std::size_t last = slots.size() - 1;  // the size is a power of two
    std::size_t slot = std::hash<std::string_view>{}(path)&last;
    while (!slots[slot].path.empty() && slots[slot].path != path) slot = (slot + 1) & last;
    return slot;
}

Schema::Known& Schema::Content::enter(std::string_view path) {
    Known& known = slots[slot_of(path)];
    known.path = path;
    return known;
}

Schema::Schema(std::vector<Field> fields)
    : content_(std::make_shared<const Content>(std::move(fields))) {}

Schema Schema::with(std::vector<Field> more) const {
    more.insert(more.begin(), fields().begin(), fields().end());
    return Schema(std::move(more));
}

const Field* Schema::Content::make(std::string_view path) const {
    const std::lock_guard lock(making);
    const auto known = made_by_path.find(path);
    if (known != made_by_path.end()) return known->second;
    const auto pattern = std::find_if(patterns.begin(), patterns.end(), [path](const Field* each) {
        // Most patterns end otherwise, which is quicker to see than their parts.
        const std::string_view form = each->path;
        return path.ends_with(form.substr(form.rfind('*') + 1)) &&
               matched(form, path) == Match::whole;
    });
    if (pattern == patterns.end() || is_pattern(path) || made.size() == most_made) return nullptr;
    made.push_back(**pattern);
    made.back().path = path;
    made_by_path.emplace(made.back().path, &made.back());
    return &made.back();
}

const Field* Schema::find(std::string_view path) const {
    const Field* const found = content_->slots[content_->slot_of(path)].field;
    if (found != nullptr || content_->patterns.empty()) return found;
    return content_->make(path);
}

bool Schema::is_section(std::string_view path) const {
    if (content_->slots[content_->slot_of(path)].section) return true;
    const auto& patterns = content_->patterns;
    return std::any_of(patterns.begin(), patterns.end(), [path](const Field* each) {
        return matched(each->path, path) == Match::begins;
    });
}

std::string Schema::nearest(std::string_view path) const {
    std::vector<std::string> paths;
    paths.reserve(fields().size());
    for (const Field& field : fields()) {
        if (!is_pattern(field.path)) paths.push_back(field.path);
    }
    for (const Field* const each : content_->patterns) {
        std::string like = named_like(each->path, path);
        if (!like.empty()) paths.push_back(std::move(like));
    }
    return ridge::nearest(path, paths);
}

const Schema& device_schema() {
    static const Schema schema(device_fields());
    return schema;
}

std::string_view unit_suffix(const Field& field) {
    struct Suffix {
        Dimension dimension;
        std::string_view text;
    };
    constexpr auto suffixes = std::to_array<Suffix>({{Bytes::dimension, "bytes"},
                                                     {Bandwidth::dimension, "bytes_per_s"},
                                                     {FlopRate::dimension, "flop_per_s"},
                                                     {FlopPerCycle::dimension, "flop_per_clk"},
                                                     {BytesPerCycle::dimension, "bytes_per_clk"},
                                                     {Frequency::dimension, "hz"},
                                                     {Cycles::dimension, "clk"},
                                                     {Time::dimension, "s"},
                                                     {Power::dimension, "w"}});
    if (field.kind != ValueKind::quantity) return "";
    const auto* const found =
        std::find_if(suffixes.begin(), suffixes.end(),
                     [&](const Suffix& suffix) { return suffix.dimension == field.dimension; });
    return found == suffixes.end() ? std::string_view() : found->text;
}

std::string range_text(const Field& field) {
    return format_exact(field.range.least, field.dimension) + " to " +
           format_exact(field.range.most, field.dimension);
}

}  // namespace ridge::hardware
