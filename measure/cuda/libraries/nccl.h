// NVIDIA's NCCL, which is found at run time.
//
// Method: the functions come from libnccl.so.2: one that the loader finds, one in
// RIDGE_NCCL_PATH (a file or folder), in a CUDA toolkit, or in the Python package nvidia-nccl, which
// PyTorch installs.
//
//   const Nccl& nccl = nccl_or_refuse();
//   nccl.require(nccl.all_reduce(in, out, n, ncclFloat, ncclSum, communicator, stream), "ncclAllReduce");
//
// Errors: Refusal when the library is missing; DeviceError with NCCL's own text when a call fails.
#pragma once

#include <nccl.h>

#include <string>

#include "measure/record/observation.h"

namespace ridge::measure::cuda {

struct Nccl {
    std::string path;
    int number = 0;  ///< 22803 for 2.28.3
    decltype(&ncclGetVersion) version = nullptr;
    decltype(&ncclGetUniqueId) unique_id = nullptr;
    decltype(&ncclCommInitRank) join = nullptr;
    decltype(&ncclCommDestroy) leave = nullptr;
    decltype(&ncclGetErrorString) error_text = nullptr;
    decltype(&ncclAllReduce) all_reduce = nullptr;
    decltype(&ncclAllGather) all_gather = nullptr;
    decltype(&ncclReduceScatter) reduce_scatter = nullptr;
    decltype(&ncclBroadcast) broadcast = nullptr;
    decltype(&ncclReduce) reduce = nullptr;
    decltype(&ncclSend) send = nullptr;
    decltype(&ncclRecv) receive = nullptr;
    decltype(&ncclGroupStart) group_start = nullptr;
    decltype(&ncclGroupEnd) group_end = nullptr;
    /// Makes NCCL read NCCL_DEBUG and its companions again; nullptr where it is not exported.
    void (*read_log_settings)() = nullptr;

    /// "2.28.3".
    [[nodiscard]] std::string version_text() const;
    void require(ncclResult_t result, const char* call) const;
};

[[nodiscard]] const Maybe<Nccl>& nccl();
[[nodiscard]] const Nccl& nccl_or_refuse();

/// Path and version of the library, or why there is none.
[[nodiscard]] Maybe<std::string> collectives_description();

}  // namespace ridge::measure::cuda
