// The laws of linear attention (gdn, kda, mamba2) as engines run it.
//
//   channel_conv    the short convolution: every channel is a stream along the tokens
//   chunked_scan    the recurrence of a prompt: chunks of a head one after the other, heads in waves
//   state_step      the recurrence of one token, or of drafted ones, per sequence: states in and out
//
// Method (docs/model.md G50 to G52). Fixed times, work on the multiprocessors in waves, and the bytes
// that the L2 does not hold add up: these kernels hardly overlap them.
//
// Limits: kernels with their tiles for heads of 128 elements; chunks as the operation states them.
#pragma once

#include "model/engine/law_time.h"

namespace ridge::model {

[[nodiscard]] LawTime channel_conv(const LawCall& call);
[[nodiscard]] LawTime chunked_scan(const LawCall& call);
[[nodiscard]] LawTime state_step(const LawCall& call);

}  // namespace ridge::model
