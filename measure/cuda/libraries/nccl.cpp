// NCCL; see nccl.h.
#include "measure/cuda/libraries/nccl.h"

#include "hardware/error.h"
#include "measure/cuda/libraries/shared_library.h"
#include "measure/cuda/memory/handles.h"

namespace ridge::measure::cuda {
namespace {

Maybe<Nccl> load_nccl() {
    const Maybe<SharedLibrary> opened = SharedLibrary::open(
        {.label = "NCCL",
         .sonames = {"libnccl.so.2"},
         .variable = "RIDGE_NCCL_PATH",
         .companions = {},
         .remedy = "install NCCL (libnccl2) or the Python package nvidia-nccl-cu13"});
    if (const auto* missing = std::get_if<Unavailable>(&opened)) return *missing;
    const auto& library = std::get<SharedLibrary>(opened);
    Nccl table;
    table.path = library.path();
    SymbolReader reader(library);
    reader.read("ncclGetVersion", table.version);
    reader.read("ncclGetUniqueId", table.unique_id);
    reader.read("ncclCommInitRank", table.join);
    reader.read("ncclCommDestroy", table.leave);
    reader.read("ncclGetErrorString", table.error_text);
    reader.read("ncclAllReduce", table.all_reduce);
    reader.read("ncclAllGather", table.all_gather);
    reader.read("ncclReduceScatter", table.reduce_scatter);
    reader.read("ncclBroadcast", table.broadcast);
    reader.read("ncclReduce", table.reduce);
    reader.read("ncclSend", table.send);
    reader.read("ncclRecv", table.receive);
    reader.read("ncclGroupStart", table.group_start);
    reader.read("ncclGroupEnd", table.group_end);
    if (!reader.missing().empty()) {
        return Unavailable{.reason = table.path + " lacks " + reader.missing(),
                           .remedy = "install NCCL 2.18 or newer"};
    }
    SymbolReader newer(library);
    newer.read("ncclResetDebugInit", table.read_log_settings);
    if (const auto result = table.version(&table.number); result != ncclSuccess) {
        return Unavailable{.reason = std::string("ncclGetVersion: ") + table.error_text(result)};
    }
    return table;
}

}  // namespace

std::string Nccl::version_text() const {
    return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
           std::to_string(number % 100);
}

void Nccl::require(ncclResult_t result, const char* call) const {
    if (result == ncclSuccess) return;
    throw DeviceError(call, static_cast<std::int64_t>(result), error_text(result));
}

const Maybe<Nccl>& nccl() {
    static const Maybe<Nccl> loaded = load_nccl();
    return loaded;
}

const Nccl& nccl_or_refuse() {
    if (const auto* missing = std::get_if<Unavailable>(&nccl())) {
        throw Refusal(missing->reason, missing->remedy);
    }
    return std::get<Nccl>(nccl());
}

Maybe<std::string> collectives_description() {
    if (const auto* missing = std::get_if<Unavailable>(&nccl())) return *missing;
    const auto& table = std::get<Nccl>(nccl());
    return table.version_text() + ", " + table.path;
}

}  // namespace ridge::measure::cuda
