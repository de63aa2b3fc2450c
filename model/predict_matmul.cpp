// Predictions of matrix products.

#include <algorithm>
#include <array>
#include <string>

#include "model/matmul_work.h"
#include "model/predict.h"
#include "model/roofline.h"

namespace ridge::model {
namespace {

/// Which pipe a type runs on.
enum class Pipe : std::uint8_t { tensor, vector, none };

Pipe pipe_of(const Matmul& op, Implementation implementation, const Machine& machine) {
    const bool vector_kernel = implementation == Implementation::naive ||
                               implementation == Implementation::coalesced ||
                               implementation == Implementation::tiled ||
                               implementation == Implementation::register_tiled;
    if (!vector_kernel && machine.tensor_peak(op.type)) return Pipe::tensor;
    return machine.vector_peak(op.type) ? Pipe::vector : Pipe::none;
}

Roofs matmul_roofs(const Matmul& op, Pipe pipe, const Machine& machine) {
    Roofs roofs = roofs_of(machine, op.type);
    if (pipe == Pipe::vector) {
        roofs.tensor.reset();
        roofs.vector = machine.vector_peak(op.type);
    }
    const auto index = static_cast<std::size_t>(op.type);
    if (pipe == Pipe::tensor && op.accumulate == DataType::fp16 &&
        machine.tensor_fp16_accumulate[index]) {
        roofs.tensor = machine.tensor_fp16_accumulate[index];
    }
    return roofs;
}

constexpr std::array library_tiles{Tile{256, 128, 32}, Tile{128, 256, 32}, Tile{128, 128, 32},
                                   Tile{256, 64, 32},  Tile{64, 256, 32},  Tile{128, 64, 32},
                                   Tile{64, 128, 32},  Tile{64, 64, 32}};

/// The tile with the least launched work per slot: waves x tile area; larger tiles win a tie.
Tile choose_tile(const Matmul& op, const Machine& machine) {
    Tile best = library_tiles.front();
    double least = 0.0;
    for (const Tile& tile : library_tiles) {
        const Tiling tiling = matmul_tiling(op, tile, std::max<std::int64_t>(1, machine.sm_count), 1);
        const double cost = static_cast<double>(tiling.waves) * tile.m * tile.n;
        if (least == 0.0 || cost < least) {
            least = cost;
            best = tile;
        }
    }
    return best;
}

Tile tile_of(const Matmul& op, const Execution& execution, Implementation implementation,
             const Machine& machine) {
    if (execution.tile) return *execution.tile;
    switch (implementation) {
        case Implementation::naive:
        case Implementation::coalesced: return {1, 1, 1};
        case Implementation::tiled: return {32, 32, 32};
        case Implementation::register_tiled: return {128, 128, 8};
        case Implementation::mma: return {128, 128, 32};
        case Implementation::wgmma: return {128, 256, 64};
        default: return choose_tile(op, machine);
    }
}

bool is_matmul_implementation(Implementation implementation) {
    switch (implementation) {
        case Implementation::library:
        case Implementation::naive:
        case Implementation::coalesced:
        case Implementation::tiled:
        case Implementation::register_tiled:
        case Implementation::mma:
        case Implementation::wgmma: return true;
        default: return false;
    }
}

}  // namespace

Outcome predict(const Matmul& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = execution.implementation == Implementation::automatic
                                              ? Implementation::library
                                              : execution.implementation;
    if (!is_matmul_implementation(implementation)) {
        return NotModelled{"impl " + std::string(name_of(implementation)) +
                           " is not an implementation of matmul"};
    }
    const Pipe pipe = pipe_of(op, implementation, machine);
    if (pipe == Pipe::none) {
        return NotModelled{"dtype " + std::string(name_of(op.type)) +
                           " has neither a tensor-core nor a vector rate on " + machine.name};
    }
    const Tile tile = tile_of(op, execution, implementation, machine);
    Work work = matmul_work(op, pipe == Pipe::tensor);
    work.l2 = matmul_tile_traffic(op, tile);

    Prediction prediction = roofline(work, matmul_roofs(op, pipe, machine), machine);
    prediction.implementation = implementation;
    prediction.time += launch_gaps(machine, execution.launch, work.kernels);
    prediction.low = prediction.lower_bound;
    prediction.high = 2.0 * prediction.time;
    if (machine.sm_count > 0) {
        prediction.tiling = matmul_tiling(op, tile, machine.sm_count, 1);
    }
    prediction.note(NoteCode::roofline_only);
    if (pipe == Pipe::vector && size_of(op.type) < 4) prediction.note(NoteCode::vector_pipe);
    if (pipe == Pipe::tensor && matmul_alignment(op) < 16) {
        prediction.note(NoteCode::alignment_cliff, static_cast<double>(matmul_alignment(op)));
    }
    return prediction;
}

}  // namespace ridge::model
