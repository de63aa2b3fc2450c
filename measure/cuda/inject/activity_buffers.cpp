#include "measure/cuda/inject/activity_buffers.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "measure/cuda/inject/kernel_name.h"
#include "measure/cuda/inject/session.h"

namespace ridge::measure::cuda {
namespace {

using programs::ActivityWriter;

// Buffers are small: CUPTI returns one only when all its records are complete, so SIGKILL may lose
// the contents of a buffer.
constexpr std::size_t buffer_bytes = std::size_t{512} << 10U;

std::uint32_t whole(std::int32_t value) {
    return static_cast<std::uint32_t>(std::max(value, 0));
}

void keep_kernel(ActivityWriter& writer, const CUpti_ActivityKernel10& kernel) {
    const std::uint32_t shape = writer.shape(
        {.name = kernel_name(writer, kernel.name),
         .grid_x = whole(kernel.gridX),
         .grid_y = whole(kernel.gridY),
         .grid_z = whole(kernel.gridZ),
         .block_x = whole(kernel.blockX),
         .block_y = whole(kernel.blockY),
         .block_z = whole(kernel.blockZ),
         .registers = kernel.registersPerThread,
         .shared_bytes = whole(kernel.staticSharedMemory) + whole(kernel.dynamicSharedMemory)});
    writer.write(programs::KernelActivity{.start_ns = kernel.start,
                                          .duration_ns = kernel.end - kernel.start,
                                          .shape = shape,
                                          .correlation = kernel.correlationId,
                                          .device = kernel.deviceId,
                                          .stream = kernel.streamId,
                                          .graph_node = kernel.graphNodeId});
}

void keep_graph(ActivityWriter& writer, const CUpti_ActivityGraphTrace2& graph) {
    const std::string name = "CUDA graph " + std::to_string(graph.graphId);
    const std::uint32_t shape = writer.shape({.name = writer.text(name)});
    writer.write(programs::KernelActivity{.start_ns = graph.start,
                                          .duration_ns = graph.end - graph.start,
                                          .shape = shape,
                                          .correlation = graph.correlationId,
                                          .device = graph.deviceId,
                                          .stream = graph.streamId});
}

const char* place_of(std::uint8_t kind) {
    switch (kind) {
        case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
            return "Pageable";
        case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
            return "Pinned";
        case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
            return "Device";
        case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
            return "Array";
        case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
            return "Managed";
        default:
            return "Unknown";
    }
}

const char* direction_of(std::uint8_t kind) {
    switch (kind) {
        case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
        case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
            return "HtoD";
        case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
        case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
            return "DtoH";
        case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
            return "PtoP";
        case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
            return "HtoH";
        default:
            return "DtoD";
    }
}

/// The name that the PyTorch profiler gives to such a copy: "Memcpy DtoH (Device -> Pinned)".
template <class Copy>
programs::TransferActivity copy_of(ActivityWriter& writer, const Copy& copy) {
    const std::string name = std::string("Memcpy ") + direction_of(copy.copyKind) + " (" +
                             place_of(copy.srcKind) + " -> " + place_of(copy.dstKind) + ")";
    return {.start_ns = copy.start,
            .duration_ns = copy.end - copy.start,
            .bytes = copy.bytes,
            .name = writer.text(name),
            .correlation = copy.correlationId,
            .device = copy.deviceId,
            .stream = copy.streamId,
            .graph_node = copy.graphNodeId};
}

programs::TransferActivity fill_of(ActivityWriter& writer, const CUpti_ActivityMemset4& fill) {
    const auto kind = static_cast<std::uint8_t>(fill.memoryKind);
    return {.start_ns = fill.start,
            .duration_ns = fill.end - fill.start,
            .bytes = fill.bytes,
            .name = writer.text(std::string("Memset (") + place_of(kind) + ")"),
            .correlation = fill.correlationId,
            .device = fill.deviceId,
            .stream = fill.streamId,
            .graph_node = fill.graphNodeId};
}

/// Calls are recorded all the time, because CUPTI does not resume recording them. Calls outside the
/// windows in which the program is recorded are dropped here.
void keep_call(Session& session, const CUpti_ActivityAPI& call) {
    if (!session.in_window(call.start)) return;
    ActivityWriter& writer = session.writer();
    const Cupti& cupti = session.cupti();
    const char* name = nullptr;
    const bool runtime = call.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    cupti.callback_name(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API,
                        call.cbid, &name);
    writer.write(programs::CallActivity{.start_ns = call.start,
                                        .duration_ns = call.end - call.start,
                                        .name = writer.text(name == nullptr ? "" : name),
                                        .correlation = call.correlationId,
                                        .thread = call.threadId});
}

void keep_device(ActivityWriter& writer, const CUpti_ActivityDevice5& device) {
    programs::DeviceActivity value{.device = device.id,
                                   .multiprocessors = device.numMultiprocessors,
                                   .memory_bytes = device.globalMemorySize,
                                   .major = device.computeCapabilityMajor,
                                   .minor = device.computeCapabilityMinor};
    std::memcpy(&value.uuid_high, device.uuid.bytes, sizeof value.uuid_high);
    std::memcpy(&value.uuid_low, device.uuid.bytes + sizeof value.uuid_high, sizeof value.uuid_low);
    if (device.name != nullptr) value.name = device.name;
    writer.write(value);
}

/// Whether the work has times; it has none if the GPU has not reported its end yet.
template <class Work>
bool has_times(const Work& work) {
    return work.start != 0 && work.end >= work.start;
}

/// Writes a record; returns the number of records lost, 0 or 1.
std::uint64_t keep(Session& session, const CUpti_Activity& record) {
    ActivityWriter& writer = session.writer();
    const auto timed = [](const auto& work, const auto& write) -> std::uint64_t {
        if (!has_times(work)) return 1;
        write(work);
        return 0;
    };
    switch (record.kind) {
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        case CUPTI_ACTIVITY_KIND_KERNEL:
            return timed(reinterpret_cast<const CUpti_ActivityKernel10&>(record),
                         [&writer](const auto& it) { keep_kernel(writer, it); });
        case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
            return timed(reinterpret_cast<const CUpti_ActivityGraphTrace2&>(record),
                         [&writer](const auto& it) { keep_graph(writer, it); });
        case CUPTI_ACTIVITY_KIND_MEMCPY:
            return timed(reinterpret_cast<const CUpti_ActivityMemcpy6&>(record),
                         [&writer](const auto& it) { writer.copy(copy_of(writer, it)); });
        case CUPTI_ACTIVITY_KIND_MEMCPY2:
            return timed(reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(record),
                         [&writer](const auto& it) { writer.copy(copy_of(writer, it)); });
        case CUPTI_ACTIVITY_KIND_MEMSET:
            return timed(reinterpret_cast<const CUpti_ActivityMemset4&>(record),
                         [&writer](const auto& it) { writer.fill(fill_of(writer, it)); });
        case CUPTI_ACTIVITY_KIND_RUNTIME:
        case CUPTI_ACTIVITY_KIND_DRIVER:
            return timed(reinterpret_cast<const CUpti_ActivityAPI&>(record),
                         [&](const auto& it) { keep_call(session, it); });
        case CUPTI_ACTIVITY_KIND_DEVICE:
            keep_device(writer, reinterpret_cast<const CUpti_ActivityDevice5&>(record));
            return 0;
        default:
            return 0;
    }
}

}  // namespace

bool is_launch_call(const char* name) {
    constexpr std::array<std::string_view, 11> words{"cudaLaunchKernel",
                                                     "__cudaLaunchKernel",
                                                     "cudaLaunchCooperativeKernel",
                                                     "cudaGraphLaunch",
                                                     "cudaMemcpy",
                                                     "cudaMemset",
                                                     "cuLaunchKernel",
                                                     "cuLaunchCooperativeKernel",
                                                     "cuGraphLaunch",
                                                     "cuMemcpy",
                                                     "cuMemset"};
    const std::string_view text = name == nullptr ? "" : name;
    return std::any_of(words.begin(), words.end(),
                       [text](std::string_view word) { return text.starts_with(word); });
}

void CUPTIAPI give_activity_buffer(std::uint8_t** buffer, std::size_t* size,
                                   std::size_t* most_records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
    *size = *buffer == nullptr ? 0 : buffer_bytes;
    *most_records = 0;
}

void CUPTIAPI take_activity_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                   std::size_t /*size*/, std::size_t valid) {
    Session& session = Session::instance();
    try {
        CUpti_Activity* record = nullptr;
        std::uint64_t lost = 0;
        while (session.cupti().activity_next(buffer, valid, &record) == CUPTI_SUCCESS) {
            lost += keep(session, *record);
        }
        std::size_t dropped = 0;
        if (session.cupti().activity_dropped(context, stream, &dropped) == CUPTI_SUCCESS) {
            lost += dropped;
        }
        if (lost > 0) session.writer().write(programs::LostActivity{.records = lost});
        session.writer().flush();
    } catch (...) {
        // Out of memory: the remaining records of the buffer are lost; the program continues.
    }
    std::free(buffer);
}

}  // namespace ridge::measure::cuda
