#include "model/machine/matmul_parameters.h"

#include <algorithm>
#include <string>

#include "model/machine/machine.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

using hardware::Description;

using ranges::clocks;
using ranges::data_rate;
using ranges::factor;
using ranges::rate_per_clock;
using ranges::share;
using ranges::share_of_peak;
using ranges::span_of_time;

using enum Origin;
using enum Need;

constexpr hardware::Range elements{1e-3, 1e5};

constexpr auto aligned_8 = [](auto& p) -> auto& {
    return p.aligned[1];
};
constexpr auto aligned_4 = [](auto& p) -> auto& {
    return p.aligned[2];
};
constexpr auto aligned_2 = [](auto& p) -> auto& {
    return p.aligned[3];
};

// clang-format off
using P = MatmulParameters;
constexpr std::array library{  //                                                     tensor, fp8, fma, tf32, align_4, align_2, fp4
    parameter<&P::launch>("launch", span_of_time, "fixed time of a product when a graph is replayed: gap, launch, first block, drain", {tables}),
    parameter<&P::cold_fill>("cold_fill", span_of_time, "extra time of the prologue when the operands come from DRAM", {tables}),
    in_clocks<&P::k_step>("k_step", clocks, "latency of 128 bytes of k in one block, divided by the stages in flight", {tables, none, records, records, records, records, tables}),
    parameter<&P::issue_fraction>("issue_fraction", share_of_peak, "share of the peak that the main loop of a 128 x 256 tile issues", {tables, tables, either, records, records, records, tables}, required),
    parameter<&P::feed_elements>("feed_elements", elements, "operand feed: the issue rate of a tile is proportional to 1 / (1 + feed (1/rows + 1/columns))", {tables, none, tables, assumed, assumed, assumed}),
    parameter<&P::burst_fraction>("burst_fraction", share_of_peak, "share of the peak under the power limit in short products", {tables, tables, assumed}),
    parameter<&P::sustained_fraction>("sustained_fraction", share_of_peak, "share of the peak under the power limit in long products", {tables, tables}),
    parameter<&P::droop>("droop", span_of_time, "length of a product, at peak rate, at which the clock has fallen half way from burst to sustained", {assumed, assumed, assumed}),
    parameter<&P::dram_fraction>("dram_fraction", share, "share of the DRAM bandwidth that a product reaches", {tables, none, assumed, none, none, none, tables}),
    parameter<&P::l2_per_sm>("l2_bytes_per_clock", rate_per_clock, "L2 read rate of one multiprocessor in a product", {assumed}, required),
    parameter<&P::multicast>("multicast", {1.0, 64.0}, "blocks of a cluster that share one load of an operand", {assumed}),
    parameter<&P::straddle>("straddle", factor, "lines of L2 by which a row that starts between two lines costs more, per line", {assumed}),
    parameter<&P::store_per_sm>("store_bytes_per_clock", rate_per_clock, "rate at which the epilogue of one multiprocessor stores C", {tables, none, assumed, none, records}),
    parameter<&P::second_kernel>("second_kernel", span_of_time, "fixed time of the kernel that adds the partial sums of a split k", {tables, tables, records, records, records}),
    parameter<&P::quantisation>("quantisation", share, "1: blocks run in whole waves; near 0: the library hides the tail", {assumed, assumed, assumed, assumed, assumed, none, assumed}),
    parameter<&P::gemv_per_sm>("gemv_bandwidth", data_rate, "L2 read rate of one multiprocessor in a matrix-vector kernel", {tables}),
    parameter_of<P, aligned_8>("aligned_8", share, "share of the issue rate left when rows start at multiples of only 8 bytes", {assumed}),
    parameter_of<P, aligned_4>("aligned_4", share, "share of the issue rate left when rows start at multiples of only 4 bytes", {assumed}),
    parameter_of<P, aligned_2>("aligned_2", share, "share of the issue rate left when rows start at multiples of only 2 bytes", {assumed}),
    parameter<&P::quantise>("quantise", span_of_time, "fixed time of the kernels that quantise A", {none, tables, none, none, none, none, tables}),
    per_clock<&P::quantise_warm>("quantise_bytes_per_clock", rate_per_clock, "rate at which one multiprocessor reads the 16-bit A from L2 to quantise it", {none, tables, none, none, none, none, tables}),
    share_of_dram<&P::quantise_cold>("quantise_dram_fraction", share, "share of the DRAM bandwidth at which the 16-bit A is read to quantise it", {none, tables, none, none, none, none, tables}),
    parameter<&P::energy>("energy", {0.1, 1000.0}, "energy at full load, in pJ per FLOP: under the power limit the pipe runs no faster than limit / energy", {assumed, none, assumed}),
};

using B = BundledMatmul;
constexpr std::array bundled{  //                                                     naive, tiled, register_tiled, mma, wgmma
    parameter<&B::launch>("launch", span_of_time, "start and end of the kernel beyond those of an empty one", {none, none, none, none, records}),
    in_clocks<&B::start>("start", clocks, "time until all multiprocessors have their first operands", {none, records, records, records, records}),
    in_clocks<&B::fill>("fill", clocks, "prologue and epilogue of one round of blocks (wgmma: of a tile of 256 columns)", {none, records, none, none, records}),
    parameter<&B::cold_fill>("cold_fill", span_of_time, "extra time of the first prologue when the operands come from DRAM", {none, none, none, none, records}),
    in_clocks<&B::step>("step", clocks, "latency of one step along k of a block alone, with operands in L2", {records, records, records, records}),
    parameter<&B::step_miss>("step_miss", span_of_time, "extra time of that step when the operands come from DRAM", {records, records, records}),
    in_clocks<&B::step_unaligned>("step_unaligned", clocks, "extra time of a step when one operand is read as vectors and the other by elements", {none, none, records}),
    in_clocks<&B::fill_unaligned>("fill_unaligned", clocks, "extra time of prologue and epilogue when C is stored by elements", {none, none, records}),
    parameter<&B::issue_fraction>("issue_fraction", share_of_peak, "share of its limiting pipe that a full multiprocessor reaches", {records, records, records, records, records}, required),
    parameter<&B::store_per_sm>("store_bytes_per_clock", rate_per_clock, "rate at which one multiprocessor stores C", {none, none, none, records}),
    parameter<&B::feed_per_sm>("feed_bytes_per_clock", rate_per_clock, "rate at which L2 delivers operand lines per multiprocessor, counting a multicast once", {none, none, none, none, records}),
};

constexpr std::array call{
    parameter<&MatmulCalibration::stream_launch>("stream_launch", span_of_time, "fixed time of a product called from an eager framework, between two events in a stream", {tables}),
};
// clang-format on

template <MatmulPipe pipe>
constexpr auto place = [](auto& machine) {
    auto& found = machine.matmul.pipes[static_cast<std::size_t>(pipe)];
    return found ? &*found : nullptr;
};
constexpr std::array places{
    section<P, place<MatmulPipe::tensor>>("matmul.tensor", "16-bit and wider tensor product",
                                          library, 0),
    section<P, place<MatmulPipe::eight_bit>>("matmul.fp8", "8-bit tensor product", library, 1),
    section<P, place<MatmulPipe::vector>>("matmul.fma", "product outside the tensor cores", library,
                                          2),
    section<P, place<MatmulPipe::tf32>>("matmul.tf32", "tf32 product", library, 3),
    section<P, place<MatmulPipe::align_4>>(
        "matmul.align_4", "16-bit product with rows at multiples of 4 or 8 bytes", library, 4),
    section<P, place<MatmulPipe::align_2>>(
        "matmul.align_2", "16-bit product with rows at multiples of 2 bytes", library, 5),
    section<P, place<MatmulPipe::four_bit>>("matmul.fp4", "nvfp4 product", library, 6)};

template <auto kernel>
constexpr auto bundled_place = [](auto& machine) {
    auto& found = machine.matmul.bundled.*kernel;
    return found ? &*found : nullptr;
};
using K = BundledMatmuls;
constexpr std::array bundled_places{
    section<B, bundled_place<&K::naive>>("matmul.naive", "bundled naive kernel", bundled, 0),
    section<B, bundled_place<&K::tiled>>("matmul.tiled", "bundled tiled kernel", bundled, 1),
    section<B, bundled_place<&K::register_tiled>>("matmul.register_tiled",
                                                  "bundled register_tiled kernel", bundled, 2),
    section<B, bundled_place<&K::mma>>("matmul.mma", "bundled mma kernel", bundled, 3),
    section<B, bundled_place<&K::wgmma>>("matmul.wgmma", "bundled wgmma kernel", bundled, 4)};

constexpr auto call_place = [](auto& machine) { return &machine.matmul; };
constexpr std::array call_places{
    section<MatmulCalibration, call_place>("matmul", "library product", call)};

/// Where the values of a set come from, judged by its issue fraction.
template <class Set>
Evidence evidence_of(const Description& gpu, const Section<Set>& section) {
    return evidence_of(gpu, section, "issue_fraction");
}

/// The family's power fractions, capped by the best rate that a library was seen to reach on this
/// GPU.
void cap_power(const Description& gpu, const std::string& type, MatmulParameters& p) {
    if (p.evidence == Evidence::own) return;
    const auto best = gpu.quantity<FlopRate>("measured.gemm." + type);
    const auto peak = gpu.quantity<FlopRate>("peak.tensor." + type);
    if (!best || !peak) return;
    const double reached = *best / *peak;
    p.burst_fraction = std::min(p.burst_fraction, reached);
    p.sustained_fraction = std::min(p.sustained_fraction, reached);
}

/// Adapts what a GPU without measurements cannot take over unchanged: by the energy of its chips if
/// that is known, else by its watts. (eq. L2, L5)
void scale(P& p, const Consists& consists) {
    if (consists.watts <= Power{} || consists.tensor_peak <= FlopRate{}) return;
    const double sustained = p.energy > 0.0
                                 ? powered_share(consists, consists.tensor_peak, p.energy)
                                 : sustained_share(consists);
    const double scaled = sustained / p.sustained_fraction;
    p.sustained_fraction = sustained;
    p.burst_fraction = std::min(1.0, p.burst_fraction * scaled);
}

/// Reads a set that starts from `start`; empty if a required field is missing.
std::optional<P> read_set(const Description& gpu, MatmulPipe pipe, P start) {
    const Section<P>& section = places[static_cast<std::size_t>(pipe)];
    if (!read_section(gpu, section, start)) return std::nullopt;
    start.evidence = evidence_of(gpu, section);
    return start;
}

/// A set with what the units of its fields refer to, and with the laws for what no file states.
P blank(const Consists& consists) {
    P p;
    p.clock = consists.tensor_clock;
    p.sms = consists.sms;
    p.dram = consists.dram;
    p.store_per_sm = store_rate(consists);
    return p;
}

std::optional<P> read_tensor(const Description& gpu, const Consists& consists) {
    P start = blank(consists);
    if (!consists.wide_tiles) {
        start.feed_elements = feed_through_registers(consists);
        start.quantisation = 1.0;
    }
    auto p = read_set(gpu, MatmulPipe::tensor, start);
    if (!p) return p;
    const std::string sustained = field_path(places[0], "sustained_fraction");
    const bool stated = gpu.has_own(sustained) && evidence_in(gpu, sustained) != Evidence::foreign;
    if (p->evidence != Evidence::own && !stated) scale(*p, consists);
    cap_power(gpu, "bf16", *p);
    return p;
}

/// Shares of the issue rate that are left with rows at 8, 4 and 2 bytes, if no file states them:
/// those of the 16-bit kernels that take such rows.
void align_by_kernels(const Description& gpu, P& p) {
    const auto issue = [&](MatmulPipe pipe) {
        return gpu.number(field_path(places[static_cast<std::size_t>(pipe)], "issue_fraction"));
    };
    const auto by_4 = issue(MatmulPipe::align_4);
    const auto by_2 = issue(MatmulPipe::align_2);
    const auto whole = issue(MatmulPipe::tensor);
    if (!by_4 || !by_2 || !whole || has(gpu, places[0], "aligned_2")) return;
    p.aligned = {1.0, *by_4 / *whole, *by_4 / *whole, *by_2 / *whole};
}

/// The 16-bit set overridden by what the 8-bit section states, which may be nothing.
std::optional<P> read_eight_bit(const Description& gpu, const std::optional<P>& tensor) {
    if (!tensor) return std::nullopt;
    const Section<P>& section = places[static_cast<std::size_t>(MatmulPipe::eight_bit)];
    P p = *tensor;
    align_by_kernels(gpu, p);
    read_section(gpu, section, p);
    p.evidence = evidence_of(gpu, section);
    if (p.evidence != Evidence::own && has(gpu, section, "sustained_fraction")) {
        // These scale with the 16-bit set's values, by the factor that the laws applied to them.
        P stated;
        read_section(gpu, places[0], stated);
        const double scaled = tensor->sustained_fraction / stated.sustained_fraction;
        p.sustained_fraction *= scaled;
        p.burst_fraction *= scaled;
    }
    cap_power(gpu, "fp8", p);
    return p;
}

/// A set that starts from the 16-bit one and needs a section of its own; empty without it. Kernels
/// for rows at 2 bytes run in whole waves like those outside the tensor cores.
std::optional<P> read_derived(const Description& gpu, MatmulPipe pipe,
                              const std::optional<P>& tensor, const std::optional<P>& vector) {
    if (!tensor) return std::nullopt;
    P p = *tensor;
    if (pipe == MatmulPipe::align_2 && vector) p.quantisation = vector->quantisation;
    p.aligned = {1.0, 1.0, 1.0, 1.0};
    p.straddle = 0.0;  // mma.sync kernels copy 16 bytes or fewer at a time
    if (pipe != MatmulPipe::tf32) p.multicast = 1.0;
    return read_set(gpu, pipe, p);
}

/// nvfp4 if it was never measured: the 8-bit products, but each step of k waits for DRAM, and one
/// kernel quantises instead of two, since a scale belongs to its block alone. (eq. L11)
std::optional<P> borrowed_four_bit(const Description& gpu, const Consists& consists,
                                   const std::optional<P>& eight_bit) {
    if (!gpu.quantity<FlopRate>("peak.tensor.fp4") || !eight_bit) return std::nullopt;
    if (consists.dram_latency <= Time{}) return std::nullopt;
    P p = *eight_bit;
    p.second_kernel = Time{};
    p.k_step = consists.dram_latency;
    p.quantise = p.quantise / 2.0;
    p.quantise_warm = p.quantise_warm * 2.0;
    p.quantise_cold = p.quantise_cold * 2.0;
    p.evidence = Evidence::foreign;
    return p;
}

/// nvfp4 takes launch, stores and power from the 16-bit set. Its kernels do not split k.
std::optional<P> read_four_bit(const Description& gpu, const Consists& consists,
                               const std::optional<P>& tensor, const std::optional<P>& eight_bit) {
    if (!tensor) return std::nullopt;
    P p = *tensor;
    p.second_kernel = Time{};
    const auto own = read_set(gpu, MatmulPipe::four_bit, p);
    return own ? own : borrowed_four_bit(gpu, consists, eight_bit);
}

std::optional<B> read_bundled(const Description& gpu, const Consists& consists,
                              std::size_t kernel) {
    B parameters;
    parameters.clock = consists.clock;
    if (!read_section(gpu, bundled_places.at(kernel), parameters)) return std::nullopt;
    parameters.evidence = evidence_of(gpu, bundled_places.at(kernel));
    return parameters;
}

/// FMA kernels take the launch of the library and, if no file states another, its share of DRAM,
/// but nothing else of its tensor kernels. They load through the port of their multiprocessor.
std::optional<P> read_vector(const Description& gpu, const Consists& consists,
                             const std::optional<P>& tensor) {
    const Section<P>& section = places[static_cast<std::size_t>(MatmulPipe::vector)];
    P start = blank(consists);
    start.l2_per_sm = port_width;
    if (tensor) start.dram_fraction = tensor->dram_fraction;
    auto p = read_set(gpu, MatmulPipe::vector, start);
    if (!p) return p;
    if (tensor) p->launch = tensor->launch;
    if (p->evidence == Evidence::own) return p;
    const double powered = powered_share(consists, consists.vector_peak, p->energy);
    if (!has(gpu, section, "burst_fraction")) p->burst_fraction = std::min(1.0, powered);
    p->sustained_fraction = std::min(p->sustained_fraction, powered);
    return p;
}

}  // namespace

std::span<const Section<MatmulParameters>> matmul_sections() {
    return places;
}
std::span<const Section<BundledMatmul>> bundled_matmul_sections() {
    return bundled_places;
}
std::span<const Section<MatmulCalibration>> matmul_call_sections() {
    return call_places;
}

MatmulCalibration read_matmul_calibration(const Description& gpu, const Consists& consists) {
    MatmulCalibration calibration;
    const auto tensor = read_tensor(gpu, consists);
    const auto eight_bit = read_eight_bit(gpu, tensor);
    const auto vector = read_vector(gpu, consists, tensor);
    calibration.pipes = {tensor,
                         eight_bit,
                         vector,
                         read_derived(gpu, MatmulPipe::tf32, tensor, vector),
                         read_derived(gpu, MatmulPipe::align_4, tensor, vector),
                         read_derived(gpu, MatmulPipe::align_2, tensor, vector),
                         read_four_bit(gpu, consists, tensor, eight_bit)};
    calibration.bundled = {.naive = read_bundled(gpu, consists, 0),
                           .tiled = read_bundled(gpu, consists, 1),
                           .register_tiled = read_bundled(gpu, consists, 2),
                           .mma = read_bundled(gpu, consists, 3),
                           .wgmma = read_bundled(gpu, consists, 4)};
    read_section(gpu, call_places[0], calibration);
    return calibration;
}

}  // namespace ridge::model
