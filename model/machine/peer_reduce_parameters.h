// What the law `peer_reduce` knows of an engine's all-reduce (`model/engine/peer_reduce.h`).
//
//   [model.engine.peer_reduce.vllm.custom]
//   one_start = { value = "4.4 us", source = "FIT" }
#pragma once

#include <cstdint>
#include <span>

#include "hardware/quantity.h"
#include "model/machine/engine_law.h"
#include "model/machine/parameter.h"

namespace ridge::model {

struct PeerReduce {
    Time one_start{};
    Time peer{};
    double one_rate = 1.0;
    Time two_start{};
    double two_rate = 1.0;
    Time library_start{};
    Time library_peer{};
    double library_rate = 1.0;
    double four = 1.0;
    double eight = 1.0;
    Time host{};
    Time library_host{};
};
[[nodiscard]] std::span<const Parameter<PeerReduce>> peer_reduce_table();
[[nodiscard]] std::span<const LawAttribute> peer_reduce_attributes();
enum class ReduceAttribute : std::uint8_t { own };

}  // namespace ridge::model
