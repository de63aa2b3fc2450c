// Work and traffic of operations that treat the tokens of a batch one by one.
//
//   const TokenWise op{.kind = TokenKind::swiglu, .rows = 4096, .cols = 14336};
//   token_wise_bytes(op).read       // 4096 x 2 x 14336 x 2 bytes
//
// Method: docs/model.md Y5. Limits: cosines and sines of rope count as two values in fp32 per
// rotated pair of one head of 128.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"

namespace ridge::model {

struct TokenWiseBytes {
    double read = 0.0;
    double written = 0.0;
};
[[nodiscard]] TokenWiseBytes token_wise_bytes(const TokenWise& op);
[[nodiscard]] Work token_wise_work(const TokenWise& op);

}  // namespace ridge::model
