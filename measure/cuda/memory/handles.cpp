// Owners of CUDA handles; see handles.h.
#include "measure/cuda/memory/handles.h"

#include <string>

#include "hardware/error.h"

namespace ridge::measure::cuda {
namespace {

constexpr std::size_t reserve = std::size_t{256} << 20;  // left for the driver and its libraries

std::string mebibytes(std::size_t bytes) {
    return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

void require(cudaError_t status, const char* call) {
    if (status == cudaSuccess) return;
    throw DeviceError(call, static_cast<std::int64_t>(status),
                      std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status));
}

NotEnoughMemory::NotEnoughMemory(std::size_t needed, std::size_t available)
    : std::runtime_error("needs " + mebibytes(needed) + " more device memory, but only " +
                         mebibytes(available) + " are free") {}

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
    std::size_t available = 0;
    std::size_t total = 0;
    require(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    if (bytes + reserve > available) throw NotEnoughMemory(bytes, available);
    void* data = nullptr;
    require(cudaMalloc(&data, bytes == 0 ? 16 : bytes), "cudaMalloc");
    data_.reset(data);
}

Stream::Stream() {
    cudaStream_t stream = nullptr;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    stream_.reset(stream);
}

void Stream::synchronize() const {
    require(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
}

Event::Event() {
    cudaEvent_t event = nullptr;
    require(cudaEventCreate(&event), "cudaEventCreate");
    event_.reset(event);
}

void Event::record(const Stream& stream) const {
    require(cudaEventRecord(event_.get(), stream.handle()), "cudaEventRecord");
}

double Event::seconds_since(const Event& earlier) const {
    float milliseconds = 0.0F;
    require(cudaEventElapsedTime(&milliseconds, earlier.event_.get(), event_.get()),
            "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
}

Graph::Graph(const Launch& launch, int repetitions) {
    const Stream stream;
    require(cudaStreamBeginCapture(stream.handle(), cudaStreamCaptureModeThreadLocal),
            "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
        for (int i = 0; i < repetitions; ++i) launch(stream.handle());
    } catch (...) {
        cudaStreamEndCapture(stream.handle(), &graph);
        if (graph != nullptr) cudaGraphDestroy(graph);
        throw;
    }
    require(cudaStreamEndCapture(stream.handle(), &graph), "cudaStreamEndCapture");
    graph_.reset(graph);
    cudaGraphExec_t executable = nullptr;
    require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
    executable_.reset(executable);
}

void Graph::replay(const Stream& stream) const {
    require(cudaGraphLaunch(executable_.get(), stream.handle()), "cudaGraphLaunch");
}

}  // namespace ridge::measure::cuda
