// MFU and MBU never exceed 1 (W10, W11), and a step that lacks operations has neither.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/catalogue/catalogue.h"
#include "model/machine/machine.h"
#include "programs/configs/presets.h"
#include "programs/model_step.h"
#include "programs/utilisation.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

using programs::Phase;
using programs::Software;

struct Case {
    Phase phase;
    Software software;
    std::int64_t batch;
    std::int64_t seq;
    programs::Quantisation quantisation = programs::Quantisation::none;
};

/// Shapes in which a step comes close to a peak, or reads little.
std::vector<Case> cases() {
    std::vector<Case> all;
    for (const Software software :
         {Software::transformers, Software::compiled, Software::serving}) {
        all.push_back({Phase::prefill, software, 1, 1024});
        all.push_back({Phase::prefill, software, 8, 512});
        all.push_back({Phase::decode, software, 1, 512});
        all.push_back({Phase::decode, software, 64, 1000});
        if (software != Software::serving) all.push_back({Phase::train, software, 4, 512});
    }
    all.push_back({Phase::decode, Software::serving, 1, 512, programs::Quantisation::int4});
    all.push_back({Phase::decode, Software::serving, 16, 512, programs::Quantisation::fp8});
    return all;
}

TEST_CASE("MFU and MBU are at most 1 for every preset on every GPU") {
    const model::Catalogue catalogue = model::catalogue();
    std::vector<model::Machine> machines;
    for (const model::CatalogueEntry& gpu : catalogue.entries()) {
        machines.push_back(model::make_machine(catalogue.at(gpu.name)));
    }
    const std::vector<Case> all = cases();
    std::size_t next = 0;
    std::size_t complete = 0;
    std::size_t partial = 0;
    for (const std::string& name : programs::preset_names()) {
        const programs::Architecture architecture = programs::find_model(name);
        for (const Case& each : all) {
            programs::Request request{.phase = each.phase,
                                      .software = each.software,
                                      .batch = each.batch,
                                      .seq = each.seq,
                                      .quantisation = each.quantisation};
            const bool encodes = architecture.value("causal") == 0;
            if (encodes && (each.phase == Phase::decode || each.phase == Phase::train)) continue;
            if (const std::int64_t most = architecture.value("positions"); most > 0) {
                request.seq = std::min(request.seq, most);
            }
            const programs::ModelStep step = programs::make_step(architecture, request, false);
            // Every case meets four of the GPUs; all GPUs take turns.
            for (int turn = 0; turn < 4; ++turn) {
                const model::Machine& machine = machines[next++ % machines.size()];
                const programs::StepTime time =
                    programs::predict(step, machine, programs::host_beside(machine.name));
                const programs::Utilisation used = programs::utilisation_of(step, time, machine);
                CAPTURE(name, machine.name, each.batch, each.seq, programs::name_of(each.phase),
                        programs::name_of(each.software), static_cast<int>(each.quantisation));
                if (!time.gpu.total.left_out.empty()) {
                    ++partial;
                    CHECK_FALSE(used.flop.has_value());
                    CHECK_FALSE(used.bandwidth.has_value());
                    continue;
                }
                ++complete;
                REQUIRE(used.flop.has_value());
                REQUIRE(used.bandwidth.has_value());
                CHECK(*used.flop > 0.0);
                CHECK(*used.flop <= 1.0);
                CHECK(*used.bandwidth >= 0.0);
                CHECK(*used.bandwidth <= 1.0);
            }
        }
    }
    CHECK(complete > 1000);
    CHECK(partial > 100);
}

}  // namespace
}  // namespace ridge::test
