// A rank's process without a GPU, for the tests of groups.
//
//   fake_rank FAULT RANK RANKS DEVICE
//   fake_rank lead                        opens a group of itself, then is killed in the middle
//
// FAULT is "none", or WHAT:STEP:RANK, such as "die:verify:1": die, hang, fail, garble or refuse. With
// "wrong:verify:1" the result of rank 1 is wrong. Each process adds its number to the file that
// RIDGE_FAKE_RANKS names.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "hardware/error.h"
#include "measure/ranks/rank_group.h"
#include "measure/ranks/serve.h"

using namespace ridge;
using namespace ridge::measure;

namespace {

class FakeRank final : public Rank {
  public:
    FakeRank(const RankPlace& place, std::string fault) : place_(place), fault_(std::move(fault)) {
        info_.name = "NVIDIA H200";
        info_.compute_capability = 90;
        info_.features.push_back({.name = "nccl", .detail = "2.28.3"});
        info_.features.push_back(
            {.name = "nvml", .missing = Unavailable{.reason = "none", .remedy = "install it"}});
    }

    [[nodiscard]] const DeviceInfo& info() const override { return info_; }
    [[nodiscard]] Environment environment() override {
        return {.sm_clock = 1980.0 * units::MHz,
                .power = 300.0 * units::W,
                .temperature_celsius = 40.0,
                .clock_reasons = {"sw_power_cap"}};
    }
    [[nodiscard]] std::string new_id() override { return std::string("\0id\xff", 4); }
    void join(const std::string& id) override {
        misbehave("join");
        if (id != new_id()) throw DeviceError("another id");
    }
    [[nodiscard]] std::string address() override { return "rank" + std::to_string(place_.rank); }
    void link(const std::vector<std::string>& addresses) override {
        if (addresses.size() != static_cast<std::size_t>(place_.ranks)) {
            throw DeviceError("too few addresses");
        }
        if (addresses.at(static_cast<std::size_t>(place_.rank)) != address()) {
            throw DeviceError("addresses in another order");
        }
    }
    [[nodiscard]] Maybe<Geometry> prepare(const model::Collective& operation, model::LaunchMode,
                                          DataPattern) override {
        if (is("refuse", "prepare"))
            return Unavailable{.reason = "too large", .remedy = "halve it"};
        misbehave("prepare");
        return Geometry{.kernels = {{.name = "ncclDevKernel", .grid_x = 8, .block_threads = 512}},
                        .device_memory = static_cast<double>(2 * operation.bytes) * units::B};
    }
    [[nodiscard]] RankVerdict verify() override {
        misbehave("verify");
        RankVerdict verdict{.verification = {.tolerance = 1e-3, .checked = 100, .ok = true}};
        if (is("wrong", "verify")) {
            verdict.verification = {.max_error = 1.0 / 0.0,
                                    .frobenius_error = 0.5,
                                    .tolerance = 1e-3,
                                    .checked = 100,
                                    .ok = false};
        }
        if (place_.rank == 0) {
            verdict.choice = CollectiveChoice{
                .library = "NCCL 2.28.3", .algorithm = "ring", .protocol = "ll", .channels = 8};
        }
        return verdict;
    }
    /// Every rank starts half a microsecond after the one before it; all end together.
    [[nodiscard]] std::vector<RankSample> sample(const RankSampleRequest& request) override {
        misbehave("sample");
        const Time start = 0.5 * static_cast<double>(place_.rank) * units::us;
        const Time each = request.launch == model::LaunchMode::kernel  ? 10.0 * units::us
                          : request.launch == model::LaunchMode::graph ? 12.0 * units::us
                                                                       : 20.0 * units::us;
        std::vector<RankSample> samples;
        for (std::int32_t i = 0; i < request.count; ++i) {
            samples.push_back({.start = start, .duration = each * request.repetitions - start});
        }
        return samples;
    }

  private:
    [[nodiscard]] bool is(const std::string& what, const std::string& step) const {
        return fault_ == what + ":" + step + ":" + std::to_string(place_.rank);
    }
    void misbehave(const std::string& step) const {
        if (is("die", step)) raise(SIGKILL);
        if (is("leave", step)) std::_Exit(9);
        if (is("fail", step)) throw DeviceError("the GPU has fallen off the bus");
        // The others wait for a rank that hangs, as in a collective.
        const bool another_hangs = fault_.rfind("hang:" + step, 0) == 0;
        const bool another_dies = fault_.rfind("die:" + step, 0) == 0;
        if (another_hangs || another_dies) sleep(600);
    }

    RankPlace place_;
    std::string fault_;
    DeviceInfo info_{};
};

void note_process() {
    if (const char* const path = std::getenv("RIDGE_FAKE_RANKS")) {
        std::ofstream(path, std::ios::app) << getpid() << std::endl;
    }
}

int lead(const char* self) {
    const auto group = open_group({.gpus = 2, .command = {self, "hang:sample:1"}});
    if (!std::holds_alternative<std::unique_ptr<Device>>(group)) return 2;
    raise(SIGKILL);
    return 0;
}

}  // namespace

int main(int count, char** words) {
    const std::vector<std::string> arguments(words + 1, words + count);
    if (arguments.size() == 1 && arguments.front() == "lead") return lead(words[0]);
    note_process();
    const std::string fault = arguments.empty() ? "none" : arguments.front();
    return serve_rank(std::span(arguments).subspan(1),
                      [&](const RankPlace& place) -> Maybe<std::unique_ptr<Rank>> {
                          if (fault == "refuse:open:" + std::to_string(place.rank)) {
                              return Unavailable{.reason = "NCCL was not found",
                                                 .remedy = "install it"};
                          }
                          return std::make_unique<FakeRank>(place, fault);
                      });
}
