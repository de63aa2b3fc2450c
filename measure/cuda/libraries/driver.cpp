// Driver entry points, and the kernels of a captured graph; see driver.h.
#include "measure/cuda/libraries/driver.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "hardware/error.h"
#include "measure/cuda/memory/handles.h"

namespace ridge::measure::cuda {
namespace {

template <class Function>
Function* entry(const char* name, unsigned int version) {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found{};
    require(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found),
            "cudaGetDriverEntryPointByVersion");
    if (found != cudaDriverEntryPointSuccess || address == nullptr) {
        throw DeviceError(std::string("the driver has no ") + name);
    }
    return reinterpret_cast<Function*>(address);
}

void require_driver(CUresult result, const char* call) {
    if (result != CUDA_SUCCESS) {
        throw DeviceError(call, static_cast<std::int64_t>(result), "driver call failed");
    }
}

/// Reads name and attributes of a kernel node. The driver holds it as a function, or as a kernel of
/// a library that is not loaded yet.
class KernelReader {
  public:
    KernelReader()
        : node_params_(entry<CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*)>(
              "cuGraphKernelNodeGetParams", 12000)),
          function_name_(entry<decltype(cuFuncGetName)>("cuFuncGetName", 12030)),
          function_of_(entry<decltype(cuKernelGetFunction)>("cuKernelGetFunction", 12000)),
          attribute_(entry<decltype(cuFuncGetAttribute)>("cuFuncGetAttribute", 2020)) {}

    [[nodiscard]] KernelLaunch read(cudaGraphNode_t node) const {
        CUDA_KERNEL_NODE_PARAMS params{};
        require_driver(node_params_(node, &params), "cuGraphKernelNodeGetParams");
        CUfunction function = params.func;
        if (function == nullptr) {
            require_driver(function_of_(&function, params.kern), "cuKernelGetFunction");
        }
        const char* name = nullptr;
        require_driver(function_name_(&name, function), "cuFuncGetName");
        const auto attribute = [&](CUfunction_attribute which) {
            int value = 0;
            require_driver(attribute_(&value, which, function), "cuFuncGetAttribute");
            return static_cast<std::int64_t>(value);
        };
        return {
            .name = readable_name(name),
            .grid_x = params.gridDimX,
            .grid_y = params.gridDimY,
            .grid_z = params.gridDimZ,
            .block_threads = std::int64_t{params.blockDimX} * params.blockDimY * params.blockDimZ,
            .registers_per_thread = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS),
            .shared_bytes = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) + params.sharedMemBytes};
    }

  private:
    CUresult (*node_params_)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*);
    decltype(&cuFuncGetName) function_name_;
    decltype(&cuKernelGetFunction) function_of_;
    decltype(&cuFuncGetAttribute) attribute_;
};

void erase_all(std::string& text, const std::string& part) {
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part)) {
        text.erase(at, part.size());
    }
}

}  // namespace

CUcontext current_context() {
    static const auto get_current = entry<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent", 4000);
    CUcontext context = nullptr;
    require(cudaFree(nullptr), "cudaFree");  // makes the primary context current
    require_driver(get_current(&context), "cuCtxGetCurrent");
    return context;
}

std::vector<KernelLaunch> kernels_of(cudaGraph_t graph) {
    static const KernelReader reader;
    std::size_t count = 0;
    require(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
    std::vector<cudaGraphNode_t> nodes(count);
    require(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
    std::vector<KernelLaunch> launches;
    for (const cudaGraphNode_t node : nodes) {
        cudaGraphNodeType type{};
        require(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
        if (type != cudaGraphNodeTypeKernel) continue;
        const KernelLaunch launch = reader.read(node);
        const auto same = std::find_if(launches.begin(), launches.end(), [&](KernelLaunch known) {
            known.repeat = launch.repeat;
            return known == launch;
        });
        if (same == launches.end()) {
            launches.push_back(launch);
        } else {
            ++same->repeat;
        }
    }
    return launches;
}

std::string readable_name(const std::string& mangled) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0 || text == nullptr) return mangled;
    std::string name = text.get();
    erase_all(name, "ridge::measure::cuda::");
    erase_all(name, "ridge::model::bundled::");
    erase_all(name, "(anonymous namespace)::");
    if (name.rfind("void ", 0) == 0) name.erase(0, 5);
    // The parameter list is the last parenthesis that opens outside template arguments.
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<') ++depth;
        if (name[i] == '>') --depth;
        if (name[i] == '(' && depth == 0) return name.substr(0, i);
    }
    return name;
}

}  // namespace ridge::measure::cuda
