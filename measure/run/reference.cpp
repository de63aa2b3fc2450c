#include "measure/run/reference.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "hardware/units.h"
#include "measure/statistics/quantile.h"
#include "model/machine/features.h"

namespace ridge::measure {
namespace {

constexpr std::int32_t reference_samples = 10;
constexpr Bytes copied_array = 1.0 * units::GiB;

/// What a microbenchmark counts, and the median of its times.
std::optional<std::pair<double, Time>> typical(Device& device, MicrobenchmarkRequest request) {
    request.count = reference_samples;
    const Maybe<MicrobenchmarkResult> found = device.run(request);
    const auto* result = std::get_if<MicrobenchmarkResult>(&found);
    if (result == nullptr) return std::nullopt;
    std::vector<double> times;
    for (const Sample& sample : result->samples) {
        if (!sample.throttled) times.push_back(sample.time.base());
    }
    if (times.empty()) return std::nullopt;
    return std::pair{result->amount, Time::from_base(median_of(std::move(times)))};
}

template <class Quantity>
void compare(std::vector<Difference>& found, const std::optional<Quantity>& here,
             const hardware::Description& gpu, const char* what, const char* path) {
    const auto described = gpu.quantity<Quantity>(path);
    if (!here || !described || *described <= Quantity{}) return;
    const double ratio = *here / *described;
    if (std::abs(std::log(ratio)) <= std::log1p(usual_difference)) return;
    found.push_back({.what = what,
                     .path = path,
                     .here = format(*here),
                     .described = format(*described),
                     .ratio = ratio});
}

}  // namespace

MachineReference take_reference(Device& device) {
    MachineReference reference;
    if (const auto empty = typical(device, {.benchmark = Microbenchmark::launch_kernel})) {
        reference.empty_kernel = empty->second / std::max(1.0, empty->first);
    }
    if (const auto copy =
            typical(device, {.benchmark = Microbenchmark::dram_copy, .size = copied_array})) {
        reference.copy = Bytes::from_base(copy->first) / copy->second;
    }
    const bool wgmma = model::features_of(device.info().compute_capability).wgmma;
    if (const auto product = typical(
            device, {.benchmark = wgmma ? Microbenchmark::tensor_wgmma : Microbenchmark::tensor_mma,
                     .type = model::DataType::bf16})) {
        reference.product = Flop::from_base(product->first) / product->second;
    }
    return reference;
}

std::vector<Difference> differences(const MachineReference& reference,
                                    const hardware::Description& gpu) {
    std::vector<Difference> found;
    compare(found, reference.empty_kernel, gpu, "an empty kernel", "launch.kernel");
    compare(found, reference.copy, gpu, "a copy", "measured.dram.copy");
    compare(found, reference.product, gpu, "a product in bf16", "measured.tensor.bf16.burst");
    return found;
}

}  // namespace ridge::measure
