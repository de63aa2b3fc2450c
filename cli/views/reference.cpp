#include "cli/views/reference.h"

#include <fmt/format.h>

#include <ostream>

#include "cli/console/table.h"
#include "hardware/units.h"
#include "model/catalogue/catalogue.h"

namespace ridge::cli {

measure::MachineReference noted_reference(const Context& context, measure::Device& device,
                                          const Machines& machines, const std::string& gpu) {
    measure::MachineReference reference = measure::take_reference(device);
    const std::string name =
        machines.catalogue().canonical_name(gpu.empty() ? device.info().name : gpu);
    if (name.empty()) return reference;
    const auto found = measure::differences(reference, machines.description(name));
    for (const measure::Difference& each : found) {
        context.err << fmt::format(
            "ridge: this machine differs from {}: {}: {} here, {} there ({:+.0f} %)\n", name,
            each.what, each.here, each.described, 100.0 * (each.ratio - 1.0));
    }
    if (!found.empty()) {
        context.err << fmt::format(
            "ridge: predictions are off by as much; `ridge calibrate -o {}/{}.ceilings.toml` takes "
            "the "
            "differences\n",
            printable(model::user_folder()), name);
    }
    return reference;
}

}  // namespace ridge::cli
