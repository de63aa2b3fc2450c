#include "model/machine/clock.h"

#include <optional>
#include <string>

#include "model/core/data_type.h"

namespace ridge::model {
namespace {

using hardware::Description;

/// The clock at which peaks of a pipe are quoted: peak over rate and multiprocessors.
std::optional<Frequency> clock_of(const Description& gpu, const std::string& pipe) {
    const auto multiprocessors = gpu.count("sm.count");
    if (!multiprocessors) return std::nullopt;
    for (const DataType type : {DataType::fp32, DataType::bf16, DataType::fp16, DataType::fp64}) {
        const std::string field = pipe + "." + std::string(name_of(type));
        const auto peak = gpu.quantity<FlopRate>("peak." + field);
        const auto rate = gpu.quantity<FlopPerCycle>("rate." + field);
        if (peak && rate) return *peak / (*rate * static_cast<double>(*multiprocessors));
    }
    return std::nullopt;
}

}  // namespace

Frequency boost_clock_of(const Description& gpu) {
    if (const auto described = gpu.quantity<Frequency>("clock.boost")) return *described;
    if (const auto quoted = clock_of(gpu, "fma")) return *quoted;
    if (const auto tensor = gpu.quantity<Frequency>("clock.tensor")) return *tensor;
    return clock_of(gpu, "tensor").value_or(Frequency{});
}

}  // namespace ridge::model
