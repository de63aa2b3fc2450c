// NVRTC; see nvrtc.h.
#include "measure/cuda/libraries/nvrtc.h"

#include <nvrtc.h>

#include <map>
#include <memory>

#include "hardware/error.h"
#include "measure/cuda/libraries/shared_library.h"
#include "measure/cuda/memory/handles.h"

namespace ridge::measure::cuda {
namespace {

struct Nvrtc {
    std::string path;
    decltype(&nvrtcVersion) version = nullptr;
    decltype(&nvrtcGetErrorString) error_string = nullptr;
    decltype(&nvrtcCreateProgram) create = nullptr;
    decltype(&nvrtcDestroyProgram) destroy = nullptr;
    decltype(&nvrtcCompileProgram) compile = nullptr;
    decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
    decltype(&nvrtcGetProgramLog) log = nullptr;
    decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
    decltype(&nvrtcGetCUBIN) cubin = nullptr;

    void require(nvrtcResult result, const char* call) const {
        if (result != NVRTC_SUCCESS) {
            throw DeviceError(call, static_cast<std::int64_t>(result), error_string(result));
        }
    }
};

Maybe<Nvrtc> load() {
    const Maybe<SharedLibrary> opened =
        SharedLibrary::open({.label = "NVRTC",
                             .sonames = {"libnvrtc.so.13", "libnvrtc.so.12"},
                             .variable = "RIDGE_NVRTC_PATH",
                             .companions = {},
                             .remedy = "install the CUDA toolkit or the Python package "
                                       "nvidia-cuda-nvrtc"});
    if (const auto* missing = std::get_if<Unavailable>(&opened)) return *missing;
    const auto& library = std::get<SharedLibrary>(opened);
    Nvrtc table;
    table.path = library.path();
    SymbolReader reader(library);
    reader.read("nvrtcVersion", table.version);
    reader.read("nvrtcGetErrorString", table.error_string);
    reader.read("nvrtcCreateProgram", table.create);
    reader.read("nvrtcDestroyProgram", table.destroy);
    reader.read("nvrtcCompileProgram", table.compile);
    reader.read("nvrtcGetProgramLogSize", table.log_size);
    reader.read("nvrtcGetProgramLog", table.log);
    reader.read("nvrtcGetCUBINSize", table.cubin_size);
    reader.read("nvrtcGetCUBIN", table.cubin);
    if (!reader.missing().empty()) {
        return Unavailable{.reason = table.path + " lacks " + reader.missing(),
                           .remedy = "install NVRTC of CUDA 12 or newer"};
    }
    return table;
}

const Maybe<Nvrtc>& nvrtc() {
    static const Maybe<Nvrtc> loaded = load();
    return loaded;
}

std::string log_of(const Nvrtc& compiler, nvrtcProgram program) {
    std::size_t size = 0;
    if (compiler.log_size(program, &size) != NVRTC_SUCCESS) return {};
    std::string log(size, '\0');
    if (compiler.log(program, log.data()) != NVRTC_SUCCESS) return {};
    return log;
}

std::vector<char> compile(const KernelSource& source) {
    const auto& found = nvrtc();
    if (const auto* missing = std::get_if<Unavailable>(&found)) {
        throw Refusal(missing->reason, missing->remedy);
    }
    const auto& compiler = std::get<Nvrtc>(found);
    nvrtcProgram program = nullptr;
    compiler.require(
        compiler.create(&program, source.source.c_str(), source.name.c_str(), 0, nullptr, nullptr),
        "nvrtcCreateProgram");
    struct Owner {
        const Nvrtc* compiler;
        nvrtcProgram* program;
        ~Owner() { compiler->destroy(program); }
    } const owner{&compiler, &program};
    const std::string architecture = "--gpu-architecture=sm_" + std::to_string(source.architecture);
    const char* const options[] = {architecture.c_str(), "--std=c++17"};
    const nvrtcResult result = compiler.compile(program, 2, options);
    if (result == NVRTC_ERROR_INVALID_OPTION) {
        throw Refusal(compiler.path + " does not know sm_" + std::to_string(source.architecture),
                      "install a newer CUDA toolkit");
    }
    if (result != NVRTC_SUCCESS) {
        throw DeviceError("nvrtcCompileProgram", static_cast<std::int64_t>(result),
                          log_of(compiler, program));
    }
    std::size_t size = 0;
    compiler.require(compiler.cubin_size(program, &size), "nvrtcGetCUBINSize");
    std::vector<char> cubin(size);
    compiler.require(compiler.cubin(program, cubin.data()), "nvrtcGetCUBIN");
    return cubin;
}

}  // namespace

RuntimeKernel::RuntimeKernel(const KernelSource& source) {
    const std::vector<char> code = compile(source);
    require(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            "cudaLibraryLoadData");
    require(cudaLibraryGetKernel(&kernel_, library_, source.name.c_str()), "cudaLibraryGetKernel");
}

RuntimeKernel::~RuntimeKernel() {
    cudaLibraryUnload(library_);
}

void RuntimeKernel::launch(cudaStream_t stream, std::int64_t blocks, int threads,
                           std::vector<void*>& arguments) const {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.stream = stream;
    require(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel_), arguments.data()),
            "cudaLaunchKernelExC");
}

const RuntimeKernel& compile_kernel(const KernelSource& source) {
    static std::map<std::string, std::unique_ptr<RuntimeKernel>> known;
    auto& kernel = known[source.source];
    if (kernel == nullptr) kernel = std::make_unique<RuntimeKernel>(source);
    return *kernel;
}

Maybe<std::string> compiler_description() {
    const auto& found = nvrtc();
    if (const auto* missing = std::get_if<Unavailable>(&found)) return *missing;
    const auto& compiler = std::get<Nvrtc>(found);
    int major = 0;
    int minor = 0;
    compiler.require(compiler.version(&major, &minor), "nvrtcVersion");
    return std::to_string(major) + "." + std::to_string(minor) + ", " + compiler.path;
}

}  // namespace ridge::measure::cuda
