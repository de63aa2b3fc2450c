// Counts of streaming operations: passes over memory, worked by hand.
#include "model/streams/row_work.h"

#include "model/collectives/work.h"
#include "model/streams/elementwise_work.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

constexpr std::int64_t rows = 1000;
constexpr std::int64_t cols = 300;
constexpr double matrix = 300000.0;  // M N
constexpr std::int64_t sector = 32;

RowWise row_wise(RowKind kind, DataType type = DataType::fp32,
                 Direction direction = Direction::forward) {
    return {.kind = kind, .rows = rows, .cols = cols, .type = type, .direction = direction};
}

void require_bytes(const Work& work, double read, double write) {
    CHECK(work.dram_read.base() == read);
    CHECK(work.dram_write.base() == write);
}

TEST_CASE("manual softmax reads 5MN + M and writes 3MN + 2M; fused reads and writes MN", "[rows]") {
    const RowWise op = row_wise(RowKind::softmax);
    const Work manual = row_work(op, Implementation::manual);
    require_bytes(manual, 4.0 * (5 * matrix + rows), 4.0 * (3 * matrix + 2 * rows));
    CHECK(manual.kernels == 5);
    const Work fused = row_work(op, Implementation::fused);
    require_bytes(fused, 4.0 * matrix, 4.0 * matrix);
    CHECK(fused.kernels == 1);
    CHECK(manual.compulsory() == fused.dram());
    CHECK(manual.fma == fused.fma);
    CHECK(manual.special == fused.special);
    // Per element 4 FLOP and one exponential, per row one reciprocal.
    CHECK(fused.fma.base() == 4 * matrix);
    CHECK(fused.special == matrix + rows);
}

TEST_CASE("softmax backward reads the output and its gradient", "[rows]") {
    const Work work = row_work(row_wise(RowKind::softmax, DataType::fp16, Direction::backward),
                               Implementation::fused);
    require_bytes(work, 2.0 * 2 * matrix, 2.0 * matrix);
    CHECK(work.special == 0.0);
}

TEST_CASE("normalisations read their vectors and write fp32 statistics", "[rows]") {
    // layernorm reads x, gamma and beta and writes y, mean and rstd; rmsnorm reads x and gamma and
    // writes y and rstd.
    require_bytes(row_work(row_wise(RowKind::layernorm, DataType::bf16), Implementation::fused),
                  2.0 * (matrix + 2 * cols), 2.0 * matrix + 8.0 * rows);
    require_bytes(row_work(row_wise(RowKind::rmsnorm, DataType::bf16), Implementation::fused),
                  2.0 * (matrix + cols), 2.0 * matrix + 4.0 * rows);
    // Backward, in two kernels, reads dy, x, gamma and statistics. It writes dx and the gradients
    // of the vectors.
    const Work layernorm = row_work(
        row_wise(RowKind::layernorm, DataType::bf16, Direction::backward), Implementation::fused);
    require_bytes(layernorm, 2.0 * (2 * matrix + cols) + 8.0 * rows, 2.0 * (matrix + 2 * cols));
    CHECK(layernorm.kernels == 2);
    const Work rmsnorm = row_work(row_wise(RowKind::rmsnorm, DataType::bf16, Direction::backward),
                                  Implementation::fused);
    require_bytes(rmsnorm, 2.0 * (2 * matrix + cols) + 4.0 * rows, 2.0 * (matrix + cols));
}

TEST_CASE("a row sum reads the matrix, and its gradient is broadcast back", "[rows]") {
    const Work sum = row_work(row_wise(RowKind::sum), Implementation::fused);
    require_bytes(sum, 4.0 * matrix, 4.0 * rows);
    CHECK(sum.flop().base() == matrix);
    require_bytes(row_work(row_wise(RowKind::sum, DataType::fp32, Direction::backward),
                           Implementation::fused),
                  4.0 * rows, 4.0 * matrix);
}

TEST_CASE("a naive transpose writes one sector per element to L2", "[rows]") {
    const Transpose op{.rows = rows, .cols = cols, .type = DataType::fp16};
    const Work tiled = transpose_work(op, Implementation::tiled, sector);
    require_bytes(tiled, 2.0 * matrix, 2.0 * matrix);
    CHECK(tiled.l2.base() == 4.0 * matrix);
    const Work naive = transpose_work(op, Implementation::naive, sector);
    CHECK(naive.l2.base() == 2.0 * matrix + 32.0 * matrix);
    CHECK(naive.compulsory() == tiled.compulsory());
    CHECK(naive.flop() == Flop{});
}

TEST_CASE("a gather moves indices, whole sectors of the touched rows, and the output", "[rows]") {
    // Rows of 24 fp16 elements are 48 B, two sectors: efficiency 48 / 64.
    const Gather narrow{.rows = 10, .cols = 24, .table_rows = 1000, .type = DataType::fp16};
    CHECK(gather_sector_efficiency(narrow, sector) == 0.75);
    // Ten rows of a thousand, drawn with replacement, are 9.950 distinct rows on average.
    const double distinct = gather_distinct_rows(narrow);
    CHECK(distinct == Approx(9.950166));
    const Work work = gather_work(narrow, sector);
    CHECK(work.dram_read.base() == Approx(8.0 * 10 + distinct * 64));
    CHECK(work.dram_write.base() == 10 * 48);
    CHECK(work.compulsory_read.base() == Approx(8.0 * 10 + distinct * 48));
    CHECK(work.l2.base() == Approx(8.0 * 10 + 10 * 64 + 10 * 48));

    // Rows of 20 B begin at any multiple of 4 B in a sector and touch 1.5 sectors on average.
    const Gather ragged{.rows = 10, .cols = 10, .table_rows = 1000, .type = DataType::fp16};
    CHECK(gather_sector_efficiency(ragged, sector) == Approx(20.0 / 48.0));

    const Gather whole{.rows = 10, .cols = 64, .table_rows = 1000, .type = DataType::fp16};
    CHECK(gather_sector_efficiency(whole, sector) == 1.0);
    CHECK(gather_work(whole, sector).dram() == gather_work(whole, sector).compulsory());

    // There are at most as many distinct rows as the table has.
    const Gather repeated{.rows = 5000, .cols = 64, .table_rows = 100, .type = DataType::fp16};
    require_bytes(gather_work(repeated, sector), 8.0 * 5000 + 100 * 128.0, 5000 * 128.0);
}

TEST_CASE("a copy reads and writes once", "[rows]") {
    const Work work = copy_work({.elements = 4096, .type = DataType::fp64}, 32);
    require_bytes(work, 8.0 * 4096, 8.0 * 4096);
    CHECK(work.flop() == Flop{});
    CHECK(work.special == 0.0);
}

TEST_CASE("ReLU has 1/8 FLOP/B in fp32 and 1/4 in fp16", "[elementwise]") {
    Elementwise op{.expression = parse_expression("relu(x)"), .elements = 1 << 20};
    const Work single = elementwise_work(op, Implementation::fused);
    CHECK((single.flop() / single.dram()).base() == 1.0 / 8.0);
    op.type = DataType::fp16;
    const Work half = elementwise_work(op, Implementation::fused);
    CHECK((half.flop() / half.dram()).base() == 1.0 / 4.0);
}

TEST_CASE("unfused expressions move more bytes but have the same compulsory bytes",
          "[elementwise]") {
    const Elementwise op{.expression = parse_expression("sin(x)^2 + cos(x)^2"),
                         .elements = 1000,
                         .type = DataType::fp32};
    const Work unfused = elementwise_work(op, Implementation::unfused);
    const Work fused = elementwise_work(op, Implementation::fused);
    CHECK(unfused.kernels == 5);
    CHECK(unfused.dram().base() == 11 * 4000.0);
    CHECK(fused.kernels == 1);
    CHECK(fused.dram().base() == 2 * 4000.0);
    CHECK(unfused.compulsory() == fused.compulsory());
    CHECK(unfused.flop() == fused.flop());
}

TEST_CASE("bytes that a link must carry per byte of the message", "[collective]") {
    const auto bytes = [](CollectiveKind kind, std::int64_t gpus) {
        return link_bytes({.kind = kind, .gpus = gpus, .bytes = 8000}).base();
    };
    CHECK(bytes(CollectiveKind::all_reduce, 8) == 2 * 7000.0);
    CHECK(bytes(CollectiveKind::all_reduce, 2) == 8000.0);
    CHECK(bytes(CollectiveKind::all_gather, 8) == 7000.0);
    CHECK(bytes(CollectiveKind::reduce_scatter, 4) == 6000.0);
    CHECK(bytes(CollectiveKind::all_to_all, 4) == 6000.0);
    CHECK(bytes(CollectiveKind::broadcast, 8) == 8000.0);
    CHECK(bytes(CollectiveKind::send, 2) == 8000.0);
    CHECK(is_host_copy(CollectiveKind::host_to_device));
    CHECK(is_host_copy(CollectiveKind::device_to_host));
    CHECK_FALSE(is_host_copy(CollectiveKind::send));
}

}  // namespace
}  // namespace ridge::model
