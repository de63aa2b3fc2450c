// A program with two contexts of its own, each with a stream, a kernel and a graph: for tests of
// profiling (scripts/measure/profile-programs.py). Prints the sums that the kernels computed.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int elements = 1 << 22;

__global__ void powers(float* out, float base) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    float value = base;
    for (int k = 0; k < i % 7; ++k) value *= base;
    out[i] = value;
}

void require(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(result));
    std::exit(1);
}
void require(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
    std::exit(1);
}

double sum_in_context(CUcontext context, float base) {
    require(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    float* out = nullptr;
    require(cudaMalloc(&out, elements * sizeof(float)), "cudaMalloc");
    cudaStream_t stream = nullptr;
    require(cudaStreamCreate(&stream), "stream");
    powers<<<elements / 256, 256, 0, stream>>>(out, base);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    powers<<<elements / 256, 256, 0, stream>>>(out, base);
    require(cudaStreamEndCapture(stream, &graph), "capture");
    require(cudaGraphInstantiate(&replay, graph, 0), "graph");
    for (int i = 0; i < 3; ++i) require(cudaGraphLaunch(replay, stream), "launch");
    require(cudaStreamSynchronize(stream), "run");
    std::vector<float> host(elements);
    require(cudaMemcpy(host.data(), out, elements * sizeof(float), cudaMemcpyDeviceToHost), "copy");
    double sum = 0.0;
    for (const float value : host) sum += value;
    return sum;
}

}  // namespace

int main() {
    require(cuInit(0), "cuInit");
    CUdevice device = 0;
    require(cuDeviceGet(&device, 0), "cuDeviceGet");
    for (const float base : {1.25F, 0.75F}) {
        CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
        require(cuCtxCreate(&context, nullptr, 0, device), "cuCtxCreate");
#else
        require(cuCtxCreate(&context, 0, device), "cuCtxCreate");
#endif
        std::printf("result %.9g\n", sum_in_context(context, base));
    }
    return 0;
}
