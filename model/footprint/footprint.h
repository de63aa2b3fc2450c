// Device memory that an operation needs: its tensors by name, in inference or training.
//
// A `Footprint` lists the tensors that are alive at the peak; their sum is the peak. In training
// this is the peak over forward and backward of this operation alone, with its inputs, its output,
// the gradients of both and what the implementation keeps or needs in between (eq. V1 to V5).
//
//   const Footprint memory = footprint(Attention{...}, Implementation::flash2, Pass::training);
//   memory.total().in(units::GiB)
//
// Limits: requested bytes. An allocator rounds each tensor up (512 bytes to 2 MiB in PyTorch), and
// a process adds its context (527 MiB), library workspaces and fragmentation. attention_memory.h
// has what implementations of attention really allocate, and when.
#pragma once

#include <cstdint>
#include <string_view>

#include "hardware/quantity.h"
#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/static_vector.h"

namespace ridge::model {

enum class Pass : std::uint8_t { inference, training };

/// The purpose of a tensor. `saved` lives from forward to backward, `scratch` only within a pass.
enum class Phase : std::uint8_t { input, output, saved, gradient, scratch };

struct Allocation {
    std::string_view name;
    Bytes bytes;
    Phase phase = Phase::input;
};

struct Footprint {
    StaticVector<Allocation, 16> parts;

    [[nodiscard]] Bytes total() const;
    [[nodiscard]] Bytes total(Phase phase) const;
    /// The bytes of the part of that name; zero if there is none.
    [[nodiscard]] Bytes bytes_of(std::string_view name) const;
};

/// Tensors alive at the peak of a valid operation. `automatic` means flash2 for attention and one
/// fused kernel for other operations. `eager`, `unfused` and `standard` keep every intermediate
/// that an eager framework keeps; `manual` is softmax written out.
[[nodiscard]] Footprint footprint(const Operation& operation, Implementation implementation,
                                  Pass pass);

/// The common rule of thumb seq^2 x element for the score matrix, which ignores heads and batch.
struct OneHeadFormula {
    Bytes one_score_matrix;    ///< what the rule gives: one head of one sample
    Bytes all_score_matrices;  ///< what unfused attention really holds
    Bytes rule_total;          ///< q, k, v and out with one score matrix
    double factor = 1.0;       ///< batch x heads, which the rule ignores
};
[[nodiscard]] OneHeadFormula one_head_formula(const Attention& attention);

/// The pass whose peak a prediction reports: training if it asks for the backward direction.
[[nodiscard]] constexpr Pass pass_of(Direction direction) {
    return direction == Direction::backward ? Pass::training : Pass::inference;
}

[[nodiscard]] std::string_view name_of(Pass pass);
[[nodiscard]] std::string_view name_of(Phase phase);
/// Parses "inference" or "training". An InputError names the field and both words.
[[nodiscard]] Pass parse_pass(std::string_view text);

}  // namespace ridge::model
