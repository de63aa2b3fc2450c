// How busy the GPU is over time: hardware counters sampled at a fixed interval while the program
// runs freely (CUPTI's PM sampling). Nothing is replayed or serialised; the samples include graphs
// and other processes on the GPU.
//
// Limits: one pass of counters, those in the activity file's `sample`. The first use of CUDA starts
// sampling, on device 0 of the process. Like counting, it needs the permission for counters.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "measure/cuda/counters/metrics.h"
#include "measure/cuda/inject/session.h"

namespace ridge::measure::cuda {

class Sampler {
  public:
    explicit Sampler(Session& session) : session_(&session) {}

    /// Decodes and writes what the GPU has sampled since the last call; the first call starts
    /// sampling.
    void collect();
    [[nodiscard]] SamplingStep step() const { return step_; }
    /// Stops sampling. Beyond `safe`, CUPTI has taken down what it needs, so nothing is called.
    void stop(SamplingStep safe);

  private:
    void start();
    void set_up();
    void configure();
    void decode();
    void write_samples();
    void reset_data();
    void check(CUptiResult result, const char* call) const;

    Session* session_;
    std::mutex mutex_;
    enum class State : std::uint8_t { idle, running, ended } state_ = State::idle;
    std::string chip_;
    std::vector<Metric> metrics_;
    std::vector<std::uint8_t> config_;  ///< CUPTI keeps a pointer to it until the end
    std::vector<std::uint8_t> data_;
    std::unique_ptr<HostProfiler> host_;
    CUpti_PmSampling_Object* object_ = nullptr;
    std::atomic<SamplingStep> step_ = SamplingStep::none;
    bool first_ = true;  ///< the first sample of a run includes what came before it
};

}  // namespace ridge::measure::cuda
