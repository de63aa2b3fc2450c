// Adapters (LoRA) that a server adds to the products of a model: their bytes and their own products.
//
//   adapter_bytes(model, deployment)                       // of one adapter, on one GPU
//   adapter_time(model, deployment, machine, 512, 8)       // of a step: 512 tokens, 8 adapters
//
// Method (W26 of docs/models.md): each product x W of attention and of dense layers becomes
// x W + (x A) B with the A and B of each token's adapter. Products with the same input are one; A is
// read by all GPUs that share the product where its outputs are cut, and cut with its inputs elsewhere. A
// step runs both as grouped products: a group for each adapter, with its part of the tokens.
// Limits: experts, embeddings and the head have none; tokens are spread evenly over the adapters.
#pragma once

#include <cstdint>

#include "hardware/quantity.h"
#include "model/machine/machine.h"
#include "programs/configs/architecture.h"
#include "programs/traffic/deployment.h"

namespace ridge::programs {

[[nodiscard]] std::int64_t adapter_bytes(const Architecture& architecture,
                                         const Deployment& deployment);

/// Of the products with A and B in a step of `tokens` tokens that use `adapters` adapters.
[[nodiscard]] Time adapter_time(const Architecture& architecture, const Deployment& deployment,
                                const model::Machine& machine, std::int64_t tokens,
                                std::int64_t adapters);

}  // namespace ridge::programs
