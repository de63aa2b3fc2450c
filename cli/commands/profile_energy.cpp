#include "cli/commands/profile_energy.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <ostream>

#include "cli/console/format.h"
#include "cli/console/table.h"
#include "hardware/json.h"
#include "hardware/units.h"
#include "programs/traces/trace.h"

namespace ridge::cli {
namespace {

using programs::ProgramEnergy;

/// NVML's functions, by our own prototypes.
struct EnergyFunctions {
    int (*initialise)() = nullptr;
    int (*count)(unsigned*) = nullptr;
    int (*device)(unsigned, void**) = nullptr;
    int (*energy)(void*, unsigned long long*) = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
}

std::string joules(Energy energy) {
    return format_number(energy.base(), 4) + " J";
}

std::string with_error(double error) {
    constexpr double percent = 100.0;
    return error >= 1.0 ? "not told apart" : "+- " + format_number(percent * error, 2) + " %";
}

Table class_table(const ProgramEnergy& found) {
    Table table{.columns = {{"  energy", Align::right},
                            {"error"},
                            {"power above rest", Align::right},
                            {"time", Align::right},
                            {"kernels", Align::right},
                            {"kernel"}},
                .rows = {}};
    for (const auto& each : found.classes) {
        const bool rest = each.kernels == 0;
        const Power power = each.busy > Time{} ? each.energy / each.busy : Power{};
        table.rows.push_back({"  " + joules(each.energy), with_error(each.error),
                              rest ? format(power) + " of rest" : format(power), format(each.busy),
                              rest ? "" : std::to_string(each.kernels), each.name});
    }
    return table;
}

Table range_table(const ProgramEnergy& found) {
    Table table{.columns = {{"  energy", Align::right},
                            {"error"},
                            {"power", Align::right},
                            {"time", Align::right},
                            {"count", Align::right},
                            {"range"}},
                .rows = {}};
    for (const auto& each : found.ranges) {
        table.rows.push_back({"  " + joules(each.energy), with_error(each.error),
                              format(each.energy / each.time), format(each.time),
                              std::to_string(each.count), each.name});
    }
    return table;
}

Json json_of(const ProgramEnergy& found) {
    Json classes = Json::array();
    for (const auto& each : found.classes) {
        classes.push_back({{"name", each.name},
                           {"kernels", each.kernels},
                           {"busy_s", each.busy.in(units::s)},
                           {"energy_j", each.energy.base()},
                           {"error", each.error}});
    }
    Json ranges = Json::array();
    for (const auto& each : found.ranges) {
        ranges.push_back({{"name", each.name},
                          {"count", each.count},
                          {"time_s", each.time.in(units::s)},
                          {"energy_j", each.energy.base()},
                          {"error", each.error}});
    }
    return {{"energy_j", found.all.base()},
            {"span_s", found.span.in(units::s)},
            {"steps", static_cast<std::int64_t>(found.steps)},
            {"classes", std::move(classes)},
            {"ranges", std::move(ranges)}};
}

}  // namespace

EnergyPoller::EnergyPoller() {
    library_ = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    EnergyFunctions nvml;
    unsigned gpus = 0;
    void* gpu = nullptr;
    unsigned long long used = 0;
    if (library_ != nullptr) {
        find(library_, "nvmlInit_v2", nvml.initialise);
        find(library_, "nvmlDeviceGetCount_v2", nvml.count);
        find(library_, "nvmlDeviceGetHandleByIndex_v2", nvml.device);
        find(library_, "nvmlDeviceGetTotalEnergyConsumption", nvml.energy);
    }
    const bool found = nvml.initialise != nullptr && nvml.count != nullptr &&
                       nvml.device != nullptr && nvml.energy != nullptr && nvml.initialise() == 0 &&
                       nvml.count(&gpus) == 0;
    if (!found) {
        problem_ = "NVML was not found (libnvidia-ml.so.1)";
    } else if (gpus != 1) {
        problem_ = fmt::format("this machine has {} GPUs; energy is told for one", gpus);
    } else if (nvml.device(0, &gpu) != 0 || nvml.energy(gpu, &used) != 0) {
        problem_ = "this GPU has no energy counter";
    }
    if (!problem_.empty()) return;
    thread_ = std::thread([this, gpu, read = nvml.energy] {
        constexpr std::chrono::milliseconds pause{5};
        constexpr double millijoule = 1e-3;
        unsigned long long before = 0;
        while (!done_) {
            unsigned long long now = 0;
            if (read(gpu, &now) == 0 && now != before) {
                const auto time = std::chrono::system_clock::now().time_since_epoch();
                const auto at = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
                // The first reading lies somewhere between two steps.
                if (before != 0) {
                    readings_.push_back({.time_ns = static_cast<std::int64_t>(at),
                                         .joules = millijoule * static_cast<double>(now)});
                }
                before = now;
            }
            std::this_thread::sleep_for(pause);
        }
    });
}

EnergyPoller::~EnergyPoller() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    if (library_ != nullptr) dlclose(library_);
}

std::vector<programs::EnergyReading> EnergyPoller::stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
    return std::move(readings_);
}

void write_energy(const Context& context, const std::vector<programs::EnergyReading>& readings,
                  const std::vector<std::string>& recordings, const std::string& file,
                  bool as_text) {
    Json all = Json::array();
    for (const std::string& recording : recordings) {
        const ProgramEnergy found = programs::energy_of(programs::read_trace(recording), readings);
        if (found.classes.empty()) {
            context.err << "ridge: energy: the program is too short for the counter's steps\n";
            continue;
        }
        all.push_back(json_of(found));
        if (!as_text) continue;
        context.out << fmt::format("\nEnergy: {} in {}, {} steps of the counter\n",
                                   joules(found.all), format(found.span), found.steps);
        write_text(context.out, class_table(found));
        if (!found.ranges.empty()) {
            context.out << '\n';
            write_text(context.out, range_table(found));
        }
    }
    std::ofstream(file) << all.text(2) << '\n';
    context.err << "ridge: energy is in " << file << '\n';
}

}  // namespace ridge::cli
