// Operations that only serving engines have kernels for: linear and sparse attention.
#pragma once

#include "model/core/fields.h"

namespace ridge::model {

/// Whether an engine's kernel runs it even if no software is named.
[[nodiscard]] constexpr bool runs_in_engines_only(OperationKind kind) {
    return kind == OperationKind::gdn || kind == OperationKind::kda ||
           kind == OperationKind::mamba2 || kind == OperationKind::indexer ||
           kind == OperationKind::sparse_mla || kind == OperationKind::mixed_attention;
}

}  // namespace ridge::model
