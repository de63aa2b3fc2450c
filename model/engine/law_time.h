// What a law says about one call of an engine's kernel, and what it is asked.
//
//   const LawTime time = time_of(call);      // model/engine/laws.h
//
// A law gives the time of the kernels on the GPU and its parts; host time is apart, because a graph does
// not pay it.
#pragma once

#include <cstdint>
#include <span>

#include "hardware/quantity.h"
#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"
#include "model/core/static_vector.h"
#include "model/machine/engine_kernel.h"
#include "model/machine/machine.h"

namespace ridge::model {

struct LawCall {
    const Operation& operation;
    const Execution& execution;
    const Machine& machine;
    const EngineKernel& kernel;
    const LawAttributes& attributes;
    const Work& work;  ///< the operation's, as counted for any kernel
};

struct LawTime {
    Time kernels;   ///< on the GPU
    Time quantise;  ///< part of that: a pass that quantises the input
    Time host;      ///< least time of an eager call; zero: not known
    StaticVector<Term, 8> terms;
    Tiling tiling;
    Bytes dram_read;
    Bytes dram_write;
    Bytes l2;
    Flop executed;       ///< on tensor cores, with padding
    double share = 1.0;  ///< of the operation's bytes, where the kernel leaves out a part of them
    std::int32_t launches = 1;
};

}  // namespace ridge::model
