// Owners of what the CUDA runtime allocates: streams, events, device memory, graphs.
//
//   const Buffer x(n * 2);                 // freed at the end of the scope
//   Stream stream;
//   launch(stream.handle());
//
// Errors: DeviceError with call, code and text; NotEnoughMemory when an allocation would not fit.
// Limits: every object belongs to the device that is current when it is made. Movable, not
// copyable.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

/// Throws DeviceError unless `status` is cudaSuccess.
void require(cudaError_t status, const char* call);

/// The device has no room for a buffer. This is a refusal, not a failure.
class NotEnoughMemory : public std::runtime_error {
  public:
    NotEnoughMemory(std::size_t needed, std::size_t available);
};

/// A request that the bundled kernels or libraries do not cover.
class Refusal : public std::runtime_error {
  public:
    explicit Refusal(const std::string& reason, std::string remedy = {})
        : std::runtime_error(reason), remedy_(std::move(remedy)) {}
    [[nodiscard]] const std::string& remedy() const { return remedy_; }

  private:
    std::string remedy_;
};

class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::size_t bytes);

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    template <class T = void>
    [[nodiscard]] T* as() const {
        return static_cast<T*>(data_.get());
    }

  private:
    struct Free {
        void operator()(void* data) const { cudaFree(data); }
    };
    std::unique_ptr<void, Free> data_;
    std::size_t bytes_ = 0;
};

class Stream {
  public:
    Stream();
    [[nodiscard]] cudaStream_t handle() const { return stream_.get(); }
    void synchronize() const;

  private:
    struct Destroy {
        void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
    };
    std::unique_ptr<CUstream_st, Destroy> stream_;
};

class Event {
  public:
    Event();
    [[nodiscard]] cudaEvent_t handle() const { return event_.get(); }
    void record(const Stream& stream) const;
    /// Seconds from `earlier` to this event; both must have happened.
    [[nodiscard]] double seconds_since(const Event& earlier) const;

  private:
    struct Destroy {
        void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
    };
    std::unique_ptr<CUevent_st, Destroy> event_;
};

/// A launch recorded `repetitions` times and replayed as a whole.
class Graph {
  public:
    Graph(const Launch& launch, int repetitions);

    void replay(const Stream& stream) const;
    [[nodiscard]] cudaGraph_t handle() const { return graph_.get(); }
    [[nodiscard]] cudaGraphExec_t executable() const { return executable_.get(); }

  private:
    struct Destroy {
        void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
        void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
    };
    std::unique_ptr<CUgraph_st, Destroy> graph_;
    std::unique_ptr<CUgraphExec_st, Destroy> executable_;
};

}  // namespace ridge::measure::cuda
