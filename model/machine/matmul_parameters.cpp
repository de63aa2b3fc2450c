#include "model/machine/matmul_parameters.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "hardware/schema.h"

namespace ridge::model {
namespace {

using hardware::Description;

/// Reads one section; fields that the schema does not have there keep their value.
class Section {
  public:
    Section(const Description& gpu, std::string_view name)
        : gpu_(gpu), prefix_("model.matmul." + std::string(name) + ".") {}

    void read(std::string_view name, double& value) const {
        const std::string path = prefix_ + std::string(name);
        if (hardware::find_field(path) != nullptr) value = gpu_.number(path).value_or(value);
    }
    template <Dimension D>
    void read(std::string_view name, Quantity<D>& value) const {
        const std::string path = prefix_ + std::string(name);
        if (hardware::find_field(path) == nullptr) return;
        value = gpu_.quantity<Quantity<D>>(path).value_or(value);
    }
    [[nodiscard]] bool has(std::string_view name) const {
        return gpu_.find(prefix_ + std::string(name)) != nullptr;
    }
    [[nodiscard]] Evidence evidence(std::string_view name) const {
        const bool own =
            gpu_.provenance(prefix_ + std::string(name)) == hardware::Provenance::measured;
        return own ? Evidence::own : Evidence::family;
    }

  private:
    const Description& gpu_;
    std::string prefix_;
};

void read_section(const Section& section, MatmulParameters& p) {
    section.read("launch", p.launch);
    section.read("fill", p.fill);
    section.read("cold_fill", p.cold_fill);
    section.read("k_step", p.k_step);
    section.read("k_step_miss", p.k_step_miss);
    section.read("issue_fraction", p.issue_fraction);
    section.read("feed_elements", p.feed_elements);
    section.read("burst_fraction", p.burst_fraction);
    section.read("sustained_fraction", p.sustained_fraction);
    section.read("droop", p.droop);
    section.read("dram_fraction", p.dram_fraction);
    section.read("l2_bytes_per_clock", p.l2_per_sm);
    section.read("multicast", p.multicast);
    section.read("straddle", p.straddle);
    section.read("resident_fraction", p.resident_fraction);
    section.read("resident_sharpness", p.resident_sharpness);
    section.read("store_bytes_per_clock", p.store_per_sm);
    section.read("second_kernel", p.second_kernel);
    section.read("quantisation", p.quantisation);
    section.read("gemv_bandwidth", p.gemv_per_sm);
    section.read("aligned_8", p.aligned[1]);
    section.read("aligned_4", p.aligned[2]);
    section.read("aligned_2", p.aligned[3]);
    section.read("quantise", p.quantise);
    section.read("quantise_warm", p.quantise_warm);
    section.read("quantise_cold", p.quantise_cold);
}

/// The family's power fractions, capped by what a library was seen to reach on this GPU.
void cap_power(const Description& gpu, const std::string& type, MatmulParameters& p) {
    if (p.evidence == Evidence::own) return;
    const auto best = gpu.quantity<FlopRate>("measured.gemm." + type);
    const auto peak = gpu.quantity<FlopRate>("peak.tensor." + type);
    if (!best || !peak) return;
    const double reached = *best / *peak;
    p.burst_fraction = std::min(p.burst_fraction, reached);
    p.sustained_fraction = std::min(p.sustained_fraction, reached);
}

std::optional<MatmulParameters> read_tensor(const Description& gpu) {
    const Section section(gpu, "tensor");
    if (!section.has("issue_fraction")) return std::nullopt;
    MatmulParameters p;
    read_section(section, p);
    p.evidence = section.evidence("issue_fraction");
    cap_power(gpu, "bf16", p);
    return p;
}

std::optional<MatmulParameters> read_eight_bit(const Description& gpu,
                                               const std::optional<MatmulParameters>& tensor) {
    if (!tensor) return std::nullopt;
    MatmulParameters p = *tensor;
    const Section section(gpu, "fp8");
    read_section(section, p);
    p.evidence =
        section.has("issue_fraction") ? section.evidence("issue_fraction") : Evidence::family;
    cap_power(gpu, "fp8", p);
    return p;
}

/// A set that starts from the 16-bit one and has a section of its own; empty without that.
std::optional<MatmulParameters> read_derived(const Description& gpu, std::string_view name,
                                             const std::optional<MatmulParameters>& tensor) {
    const Section section(gpu, name);
    if (!tensor || !section.has("issue_fraction")) return std::nullopt;
    MatmulParameters p = *tensor;
    p.aligned = {1.0, 1.0, 1.0, 1.0};
    p.straddle = 0.0;  // kernels of mma.sync, whose copies are of 16 bytes or fewer
    read_section(section, p);
    p.evidence = section.evidence("issue_fraction");
    return p;
}

std::optional<BundledMatmul> read_bundled(const Description& gpu, std::string_view name) {
    const Section section(gpu, name);
    if (!section.has("issue_fraction")) return std::nullopt;
    BundledMatmul kernel;
    section.read("launch", kernel.launch);
    section.read("start", kernel.start);
    section.read("fill", kernel.fill);
    section.read("cold_fill", kernel.cold_fill);
    section.read("step", kernel.step);
    section.read("step_miss", kernel.step_miss);
    section.read("step_unaligned", kernel.step_unaligned);
    section.read("fill_unaligned", kernel.fill_unaligned);
    section.read("issue_fraction", kernel.issue_fraction);
    section.read("store_bytes_per_clock", kernel.store_per_sm);
    section.read("feed_bytes_per_clock", kernel.feed_per_sm);
    section.read("drift", kernel.drift);
    kernel.evidence = section.evidence("issue_fraction");
    return kernel;
}

/// FMA kernels have the launch of the library, and nothing else of its tensor kernels.
std::optional<MatmulParameters> read_vector(const Description& gpu,
                                            const std::optional<MatmulParameters>& tensor) {
    const Section section(gpu, "fma");
    if (!section.has("issue_fraction")) return std::nullopt;
    MatmulParameters p;
    read_section(section, p);
    p.launch = tensor ? tensor->launch : Time{};
    p.evidence = section.evidence("issue_fraction");
    return p;
}

}  // namespace

MatmulCalibration read_matmul_calibration(const Description& gpu) {
    MatmulCalibration calibration;
    const auto tensor = read_tensor(gpu);
    calibration.pipes = {tensor,
                         read_eight_bit(gpu, tensor),
                         read_vector(gpu, tensor),
                         read_derived(gpu, "tf32", tensor),
                         read_derived(gpu, "align_4", tensor),
                         read_derived(gpu, "align_2", tensor)};
    calibration.bundled = {.naive = read_bundled(gpu, "naive"),
                           .coalesced = read_bundled(gpu, "coalesced"),
                           .tiled = read_bundled(gpu, "tiled"),
                           .register_tiled = read_bundled(gpu, "register_tiled"),
                           .mma = read_bundled(gpu, "mma"),
                           .wgmma = read_bundled(gpu, "wgmma")};
    calibration.stream_launch = gpu.quantity<Time>("model.matmul.stream_launch");
    return calibration;
}

}  // namespace ridge::model
