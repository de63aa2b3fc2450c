// Which dimensions of a program's tensors are its batch, and its calls with twice the batch.
//
//   const auto batch = BatchAxis::find(rows);     // empty: the shapes do not tell
//   batch->size();                                // 8
//   batch->doubled(4);                            // the call of row 4 with 16; empty: it does not depend on the batch
//
// Method (docs/model.md S15). A batch is the leading dimension of tensors of three dimensions or more that are no weights.
// Each such size is tried: the extents that belong to it are itself and its products with the dimensions that follow it
// in these tensors (rows of a product: batch x words). A tensor depends on the batch if its first dimension is such an
// extent, a call if its largest tensor does; of a product the rows do, else the dimension that is summed. The batch is the
// largest size whose calls take nine tenths of the time of all calls but those of weights (matrices that products take as
// second operand, filters, lists of tensors) and communication. Some call must take its samples apart: images, heads of an
// attention, words as rows of a product. Where two sizes pass of which neither divides the other, the shapes do not tell.
//
// Limits: a batch that comes second (words x batch) or that shapes repeat elsewhere cannot be told from a trace, nor sizes
// that follow from the batch in other ways: packed sequences, as of serving engines, and edges of graphs, which are
// summed by an index.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "programs/report/operator_rows.h"

namespace ridge::programs {

class BatchAxis {
  public:
    [[nodiscard]] static std::optional<BatchAxis> find(const Rows& rows);

    [[nodiscard]] std::int64_t size() const { return size_; }
    [[nodiscard]] const std::optional<Call>& doubled(std::size_t row) const {
        return doubled_[row];
    }

  private:
    explicit BatchAxis(std::int64_t size) : size_(size) {}

    std::int64_t size_ = 0;
    std::vector<std::optional<Call>> doubled_{};  ///< of each row
};

}  // namespace ridge::programs
