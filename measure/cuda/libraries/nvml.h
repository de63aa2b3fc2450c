// The state of the GPU during our work: clocks, power, temperature, reasons for low clocks, other
// users.
//
// Method: NVML is opened at run time with our own prototypes, because few toolkits include its
// header. During a measurement, a thread reads the reasons that limit the clocks every 20 ms and
// collects them all, because a single reading afterwards would miss a short power cap.
//
//   auto opened = Management::open("0000:41:00.0");
//   { const Management::Watch watch(management); run(); }
//   const Environment seen = management.environment();   // reasons since the last call
//
// Limits: power is the driver's average over about a second. Nothing is ever set.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "measure/ranks/topology.h"
#include "measure/record/observation.h"

namespace ridge::measure::cuda {

class Management {
  public:
    struct Functions;

    [[nodiscard]] static Maybe<std::unique_ptr<Management>> open(const std::string& pci_bus);
    ~Management();
    Management(const Management&) = delete;
    Management& operator=(const Management&) = delete;

    [[nodiscard]] Environment environment();
    /// Used since the driver was loaded; empty when the GPU has no counter.
    [[nodiscard]] std::optional<Energy> energy() const;
    [[nodiscard]] std::string driver_version() const;
    [[nodiscard]] std::string version() const;
    [[nodiscard]] std::optional<Frequency> max_sm_clock() const;
    [[nodiscard]] std::optional<Frequency> max_memory_clock() const;
    /// Empty when the driver does not say.
    [[nodiscard]] std::optional<NvLinks> links() const;
    [[nodiscard]] bool mig() const;
    [[nodiscard]] const std::string& path() const { return path_; }

    /// Watches for its lifetime; does nothing if `management` is null.
    class Watch {
      public:
        explicit Watch(Management* management);
        ~Watch();
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;

      private:
        Management* management_;
        std::atomic<bool> done_{false};
        std::thread thread_;
    };

  private:
    Management(std::unique_ptr<Functions> functions, void* device, std::string path);
    void look();
    [[nodiscard]] std::optional<Frequency> clock(int kind, bool highest) const;

    std::unique_ptr<Functions> functions_;
    void* device_;
    std::string path_;
    std::atomic<std::uint64_t> reasons_{0};
};

}  // namespace ridge::measure::cuda
