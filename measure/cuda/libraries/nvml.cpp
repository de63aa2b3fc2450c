// NVML; see nvml.h.
#include "measure/cuda/libraries/nvml.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <vector>

#include "measure/cuda/libraries/shared_library.h"

namespace ridge::measure::cuda {
namespace {

// From NVIDIA's NVML API reference: return codes, clock types and the process record.
constexpr int success = 0;
constexpr int sm_clock_kind = 1;
constexpr int memory_clock_kind = 2;
constexpr std::uint64_t idle_reason = 0x1;
constexpr auto watch_interval = std::chrono::milliseconds(20);

/// NVML numbers the revisions of NVLink: 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0 are 1 to 7.
std::int32_t generation_of(unsigned int revision) {
    constexpr std::array<std::int32_t, 8> generations{0, 1, 2, 2, 3, 3, 4, 5};
    return revision < generations.size() ? generations[revision] : 0;
}

struct ProcessRecord {
    unsigned int pid;
    unsigned long long used_memory;
    unsigned int gpu_instance;
    unsigned int compute_instance;
};

}  // namespace

struct Management::Functions {
    int (*initialise)() = nullptr;
    int (*shut_down)() = nullptr;
    int (*driver_version)(char*, unsigned int) = nullptr;
    int (*nvml_version)(char*, unsigned int) = nullptr;
    int (*device_by_bus)(const char*, void**) = nullptr;
    int (*clock)(void*, int, unsigned int*) = nullptr;
    int (*max_clock)(void*, int, unsigned int*) = nullptr;
    int (*reasons)(void*, unsigned long long*) = nullptr;
    int (*power)(void*, unsigned int*) = nullptr;
    int (*power_limit)(void*, unsigned int*) = nullptr;
    int (*energy)(void*, unsigned long long*) = nullptr;
    int (*temperature)(void*, int, unsigned int*) = nullptr;
    int (*processes)(void*, unsigned int*, ProcessRecord*) = nullptr;
    int (*mig_mode)(void*, unsigned int*, unsigned int*) = nullptr;
    int (*link_state)(void*, unsigned int, int*) = nullptr;
    int (*link_version)(void*, unsigned int, unsigned int*) = nullptr;
    int (*link_remote)(void*, unsigned int, int*) = nullptr;
};

namespace {

std::string load(const SharedLibrary& library, Management::Functions& table) {
    SymbolReader reader(library);
    reader.read("nvmlInit_v2", table.initialise);
    reader.read("nvmlShutdown", table.shut_down);
    reader.read("nvmlSystemGetDriverVersion", table.driver_version);
    reader.read("nvmlSystemGetNVMLVersion", table.nvml_version);
    reader.read("nvmlDeviceGetHandleByPciBusId_v2", table.device_by_bus);
    reader.read("nvmlDeviceGetClockInfo", table.clock);
    reader.read("nvmlDeviceGetMaxClockInfo", table.max_clock);
    reader.read("nvmlDeviceGetPowerUsage", table.power);
    reader.read("nvmlDeviceGetEnforcedPowerLimit", table.power_limit);
    reader.read("nvmlDeviceGetTotalEnergyConsumption", table.energy);
    reader.read("nvmlDeviceGetTemperature", table.temperature);
    reader.read("nvmlDeviceGetComputeRunningProcesses_v3", table.processes);
    reader.read("nvmlDeviceGetMigMode", table.mig_mode);
    SymbolReader newer(library);
    newer.read("nvmlDeviceGetCurrentClocksEventReasons", table.reasons);
    newer.read("nvmlDeviceGetNvLinkState", table.link_state);
    newer.read("nvmlDeviceGetNvLinkVersion", table.link_version);
    newer.read("nvmlDeviceGetNvLinkRemoteDeviceType", table.link_remote);
    if (table.reasons == nullptr) {
        reader.read("nvmlDeviceGetCurrentClocksThrottleReasons", table.reasons);
    }
    return reader.missing();
}

/// The value that `call` writes, if it succeeds.
template <class Value, class Call>
std::optional<Value> asked(Call call) {
    Value value{};
    if (call(&value) != success) return std::nullopt;
    return value;
}

}  // namespace

Management::Management(std::unique_ptr<Functions> functions, void* device, std::string path)
    : functions_(std::move(functions)), device_(device), path_(std::move(path)) {}

Management::~Management() {
    functions_->shut_down();
}

Maybe<std::unique_ptr<Management>> Management::open(const std::string& pci_bus) {
    const Maybe<SharedLibrary> opened =
        SharedLibrary::open({.label = "NVML",
                             .sonames = {"libnvidia-ml.so.1"},
                             .remedy = "install the driver's management library (nvidia-ml)"});
    if (const auto* missing = std::get_if<Unavailable>(&opened)) return *missing;
    const auto& library = std::get<SharedLibrary>(opened);
    auto functions = std::make_unique<Functions>();
    if (const std::string missing = load(library, *functions); !missing.empty()) {
        return Unavailable{.reason = library.path() + " lacks " + missing,
                           .remedy = "update the driver"};
    }
    if (const int code = functions->initialise(); code != success) {
        return Unavailable{.reason = "nvmlInit failed with " + std::to_string(code)};
    }
    void* device = nullptr;
    if (const int code = functions->device_by_bus(pci_bus.c_str(), &device); code != success) {
        functions->shut_down();
        return Unavailable{.reason = "NVML does not know the GPU at " + pci_bus + " (code " +
                                     std::to_string(code) + ")"};
    }
    return std::unique_ptr<Management>(
        new Management(std::move(functions), device, library.path()));
}

std::optional<Frequency> Management::clock(int kind, bool highest) const {
    const auto call = highest ? functions_->max_clock : functions_->clock;
    const auto mhz =
        asked<unsigned int>([&](unsigned int* value) { return call(device_, kind, value); });
    if (!mhz) return std::nullopt;
    return static_cast<double>(*mhz) * units::MHz;
}

std::optional<Frequency> Management::max_sm_clock() const {
    return clock(sm_clock_kind, true);
}
std::optional<Frequency> Management::max_memory_clock() const {
    return clock(memory_clock_kind, true);
}

std::string Management::driver_version() const {
    std::array<char, 96> text{};
    functions_->driver_version(text.data(), static_cast<unsigned int>(text.size()));
    return text.data();
}

std::string Management::version() const {
    std::array<char, 96> text{};
    functions_->nvml_version(text.data(), static_cast<unsigned int>(text.size()));
    return text.data();
}

std::optional<NvLinks> Management::links() const {
    if (functions_->link_state == nullptr) return std::nullopt;
    constexpr unsigned int most_links = 18;
    constexpr int remote_switch = 2;
    NvLinks found;
    for (unsigned int link = 0; link < most_links; ++link) {
        int active = 0;
        if (functions_->link_state(device_, link, &active) != success || active == 0) continue;
        ++found.active;
        unsigned int version = 0;
        if (functions_->link_version != nullptr &&
            functions_->link_version(device_, link, &version) == success) {
            found.version = generation_of(version);
        }
        int remote = 0;
        if (functions_->link_remote != nullptr &&
            functions_->link_remote(device_, link, &remote) == success) {
            found.to_switch = found.to_switch || remote == remote_switch;
        }
    }
    return found;
}

bool Management::mig() const {
    unsigned int current = 0;
    unsigned int pending = 0;
    return functions_->mig_mode(device_, &current, &pending) == success && current != 0;
}

void Management::look() {
    unsigned long long bits = 0;
    if (functions_->reasons(device_, &bits) == success) reasons_ |= bits & ~idle_reason;
}

std::optional<Energy> Management::energy() const {
    constexpr double millijoule = 1e-3;
    const auto total = asked<unsigned long long>(
        [&](unsigned long long* value) { return functions_->energy(device_, value); });
    if (!total) return std::nullopt;
    return static_cast<double>(*total) * millijoule * units::J;
}

Environment Management::environment() {
    look();
    Environment seen{.sm_clock = clock(sm_clock_kind, false),
                     .memory_clock = clock(memory_clock_kind, false),
                     .clock_reasons = clock_reason_words(reasons_.exchange(0))};
    const auto number = [&](auto call) {
        return asked<unsigned int>([&](unsigned int* value) { return call(device_, value); });
    };
    constexpr double milliwatt = 1e-3;
    if (const auto power = number(functions_->power)) seen.power = *power * milliwatt * units::W;
    if (const auto limit = number(functions_->power_limit)) {
        seen.power_limit = *limit * milliwatt * units::W;
    }
    if (const auto degrees = asked<unsigned int>(
            [&](unsigned int* value) { return functions_->temperature(device_, 0, value); })) {
        seen.temperature_celsius = *degrees;
    }
    seen.energy = energy();
    std::array<ProcessRecord, 64> running{};
    unsigned int count = static_cast<unsigned int>(running.size());
    if (functions_->processes(device_, &count, running.data()) == success) {
        std::int64_t others = 0;
        for (unsigned int i = 0; i < count; ++i) {
            if (running[i].pid != static_cast<unsigned int>(getpid())) ++others;
        }
        seen.other_processes = others;
    }
    return seen;
}

Management::Watch::Watch(Management* management) : management_(management) {
    if (management_ == nullptr) return;
    thread_ = std::thread([this] {
        while (!done_) {
            management_->look();
            std::this_thread::sleep_for(watch_interval);
        }
    });
}

Management::Watch::~Watch() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
}

}  // namespace ridge::measure::cuda
