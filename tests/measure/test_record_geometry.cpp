// The geometry of the bundled kernels compared with the launches in the committed records: grid,
// threads and shared memory of every kernel, and the blocks that registers and shared memory allow
// on a multiprocessor.
#include <algorithm>

#include "measure/record/record.h"
#include "model/bundled/matmul.h"
#include "model/catalogue/catalogue.h"
#include "model/machine/occupancy.h"
#include "model/matmul/tiles.h"
#include "tests/catch.h"
#include "tests/support/bundled_launches.h"

using namespace ridge;
using measure::Record;
using model::Implementation;

namespace {

const std::vector<Record>& records() {
    static const std::vector<Record> all = [] {
        const std::string root = RIDGE_RECORDS;
        auto file = measure::read_all_records(
            {root + "/h200-sxm", root + "/h200-sxm-fit", root + "/h200-sxm-random"});
        REQUIRE(file.damaged.empty());
        return std::move(file.records);
    }();
    return all;
}

/// The launches of ridge's own kernels. Of standard attention, that is only the softmax of the
/// scores.
measure::Geometry bundled_part(const Record& record) {
    measure::Geometry geometry = *record.geometry;
    if (record.question.execution.implementation != Implementation::standard) return geometry;
    std::erase_if(geometry.kernels, [](const measure::KernelLaunch& kernel) {
        return !kernel.name.starts_with("softmax_");
    });
    return geometry;
}

}  // namespace

TEST_CASE("Every recorded launch has the model's geometry", "[records]") {
    std::size_t compared = 0;
    for (const Record& record : records()) {
        if (!record.geometry) continue;
        const auto expected = test::bundled_launches(record.question, record.device.sm_count);
        if (!expected) continue;
        INFO(measure::canonical_text(record.question));
        CHECK(test::sorted(test::recorded_launches(bundled_part(record))) ==
              test::sorted(*expected));
        ++compared;
    }
    CHECK(compared > 2000);
}

TEST_CASE("Tiles and splits in the records are those of the geometry", "[records]") {
    std::size_t splits = 0;
    for (const Record& record : records()) {
        const auto* const op = std::get_if<model::Attention>(&record.question.operation);
        if (op == nullptr || !record.geometry || record.geometry->split == 1) continue;
        INFO(measure::canonical_text(record.question));
        const auto expected = test::bundled_launches(record.question, record.device.sm_count);
        REQUIRE(expected);
        CHECK(expected->front().x == record.geometry->split);
        ++splits;
    }
    CHECK(splits > 50);
    for (const Record& record : records()) {
        const auto* const op = std::get_if<model::Matmul>(&record.question.operation);
        const auto kernel = model::bundled_kernel(record.question.execution.implementation);
        if (op == nullptr || !kernel || !record.geometry) continue;
        INFO(measure::canonical_text(record.question));
        const bool wgmma = record.question.execution.implementation == Implementation::wgmma;
        const model::bundled::MatmulExtents extents{
            .m = op->m, .n = op->n, .k = op->k, .batch = op->batch};
        CHECK(record.geometry->tile ==
              (wgmma ? model::bundled::wgmma_for(extents, record.device.sm_count).tile
                     : kernel->layout.tile));
    }
}

TEST_CASE("As many blocks of a product share a multiprocessor as the geometry says", "[records]") {
    const auto machine = model::make_machine(model::catalogue().at("h200-sxm"));
    std::size_t compared = 0;
    for (const Record& record : records()) {
        const auto* const op = std::get_if<model::Matmul>(&record.question.operation);
        const Implementation implementation = record.question.execution.implementation;
        const auto kernel = model::bundled_kernel(implementation);
        if (op == nullptr || !kernel || !record.geometry) continue;
        INFO(measure::canonical_text(record.question));
        const measure::KernelLaunch& launched = record.geometry->kernels.front();
        const model::Occupancy occupancy =
            model::occupancy({.threads = launched.block_threads,
                              .registers = launched.registers_per_thread,
                              .shared = static_cast<double>(launched.shared_bytes) * units::B},
                             *machine.limits);
        const bool register_tiled = implementation == Implementation::register_tiled;
        CHECK(occupancy.blocks == (register_tiled ? model::bundled::register_tiled_blocks_per_sm(
                                                        model::bundled::in_float_vectors(op->k),
                                                        model::bundled::in_float_vectors(op->n))
                                                  : kernel->layout.blocks_per_sm));
        ++compared;
    }
    CHECK(compared > 300);
}
