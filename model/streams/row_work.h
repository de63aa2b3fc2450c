// Counts for operations that stream their data: row-wise operations, transpose, copy, gather.
//
//   row_work(RowWise{.kind = RowKind::softmax, ...}, Implementation::manual)   // 5 kernels
//
// Method: docs/model.md equations B11 to B14. These are pure counts; nothing here depends on a
// clock.
#pragma once

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/core/prediction.h"

namespace ridge::model {

/// softmax, layernorm, rmsnorm, reductions, cross entropy, running sums; forward or backward.
/// `manual` is softmax in five kernels (5MN + M reads, 3MN + 2M writes); anything else is one fused
/// kernel.
[[nodiscard]] Work row_work(const RowWise& op, Implementation implementation);

/// One read and one write of all matrices. The naive kernel writes one sector per element at L2.
[[nodiscard]] Work transpose_work(const Transpose& op, Implementation implementation,
                                  std::int64_t sector_bytes);

/// Strided reads take whole sectors.
[[nodiscard]] Work copy_work(const Copy& op, std::int64_t sector_bytes);

[[nodiscard]] Work cat_work(const Cat& op);

/// Four tensors are read and three written. `torch`, which has a kernel for each of its eight
/// operations, reads twelve and writes eight. (eq. B30)
[[nodiscard]] Work adamw_work(const AdamW& op, Implementation implementation);

/// Indices (8 bytes each), the touched table rows in whole sectors, and the output.
[[nodiscard]] Work gather_work(const Gather& op, std::int64_t sector_bytes);

/// Average number of different rows among `rows` drawn at random from the table.
[[nodiscard]] double gather_distinct_rows(const Gather& op);

/// Useful bytes / bytes moved for one row of a gather: 1 if rows are whole sectors. Other rows
/// begin anywhere in a sector that their size allows.
[[nodiscard]] double gather_sector_efficiency(const Gather& op, std::int64_t sector_bytes);

/// Bytes of a gather by kind.
struct GatherBytes {
    Bytes indices{};
    Bytes distinct{};  ///< touched rows once, in whole sectors
    Bytes rows{};      ///< all rows in whole sectors
    Bytes output{};
};
[[nodiscard]] GatherBytes gather_bytes(const Gather& op, std::int64_t sector_bytes);

/// Share of repeated rows that a cache of `capacity` still holds. Between two uses of a row, as
/// many other rows pass as the table has, each with its index, its output and, if it misses, the
/// row itself.
[[nodiscard]] double gather_hits(const Gather& op, const GatherBytes& bytes, Bytes capacity);

}  // namespace ridge::model
