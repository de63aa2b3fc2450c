// What the warps of the program's kernels wait for, by instruction: CUPTI's PC sampling, in its
// continuous mode, which lets kernels run as they do otherwise.
//
// Method: each multiprocessor notes at a fixed interval where one of its warps stands and why it
// does not issue. CUPTI adds the samples up by instruction; we fetch them with every flush. At the
// end each instruction gets its source line, if its module has line information (nvcc -lineinfo;
// Triton always has it), and is written as a `stalls` record.
//
// Limits: launches of one kernel are added up, whatever their grid. Modules are kept until the end
// only if they have line information. CUPTI does not sample while the range profiler counts, so
// this is a run of its own.
#pragma once

#include <cupti_pcsampling.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "measure/cuda/inject/session.h"

namespace ridge::measure::cuda {

class StallSampler {
  public:
    StallSampler(Session& session, CUpti_SubscriberHandle subscriber);

    void context_created(CUcontext context);
    /// Fetches what is left while the context still exists.
    void context_ends(CUcontext context);
    void module_loaded(std::span<const char> cubin);
    /// Fetches what CUPTI has added up so far.
    void collect();
    /// Stops sampling and writes the records; nothing is sampled afterwards.
    void finish();
    /// Writes the records without stopping, while a signal ends the program.
    void write_now();

  private:
    /// Memory for a number of instructions with all their reasons.
    struct Buffer {
        explicit Buffer(std::size_t reasons);

        std::vector<CUpti_PCSamplingStallReason> reasons;
        std::vector<CUpti_PCSamplingPCData> places;
        CUpti_PCSamplingData data{};
    };
    struct Sampled {
        std::vector<std::string> reasons;  ///< by CUPTI's number; empty for those not kept
        std::unique_ptr<Buffer> last;      ///< that CUPTI fills when sampling stops
    };
    struct Place {
        std::uint64_t module = 0;  ///< checksum
        std::string function;
        std::uint64_t address = 0;

        friend bool operator<(const Place& a, const Place& b) {
            return std::tie(a.module, a.function, a.address) <
                   std::tie(b.module, b.function, b.address);
        }
    };
    using Samples = std::map<std::string, double>;

    void start(CUcontext context);
    [[nodiscard]] std::vector<std::string> reasons_of(CUcontext context) const;
    void fetch(CUcontext context, const Sampled& sampled);
    void take(const Buffer& buffer, const Sampled& sampled);
    void stop(CUcontext context, Sampled& sampled);
    void write();
    void give_up(const std::string& why);

    Session* session_;
    std::mutex mutex_;
    std::map<CUcontext, Sampled> contexts_;
    std::map<Place, Samples> places_;
    std::vector<std::vector<char>> modules_;  ///< with line information
    std::size_t module_bytes_ = 0;
    double dropped_ = 0.0;
    double total_ = 0.0;
    bool ended_ = false;
};

}  // namespace ridge::measure::cuda
