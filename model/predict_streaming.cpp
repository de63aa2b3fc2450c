// Predictions of operations that stream their data: elementwise, row-wise, transpose, copy, gather.

#include <algorithm>

#include "model/elementwise_work.h"
#include "model/footprint.h"
#include "model/predict.h"
#include "model/roofline.h"
#include "model/row_work.h"

namespace ridge::model {
namespace {

NotModelled refuse(const Operation& operation, Implementation implementation) {
    return {"impl " + std::string(name_of(implementation)) + " is not an implementation of " +
            std::string(name_of(operation))};
}

/// Roofline time with launches and gaps; marks a working set that stays in L2.
Prediction streaming_prediction(const Work& work, DataType type, const Execution& execution,
                                Implementation implementation, const Machine& machine) {
    Prediction prediction = roofline(work, roofs_of(machine, type), machine);
    prediction.implementation = implementation;
    prediction.time += launch_gaps(machine, execution.launch, work.kernels);
    prediction.low = prediction.lower_bound;
    prediction.high = 2.0 * prediction.time;
    prediction.note(NoteCode::roofline_only);
    if (machine.l2_size && work.compulsory() * 2.0 <= *machine.l2_size) {
        prediction.note(NoteCode::l2_resident, work.compulsory().base(), machine.l2_size->base());
    }
    return prediction;
}

bool is_one_of(Implementation implementation, std::initializer_list<Implementation> known) {
    return std::find(known.begin(), known.end(), implementation) != known.end();
}

Implementation or_default(Implementation asked, Implementation usual) {
    return asked == Implementation::automatic ? usual : asked;
}

}  // namespace

Outcome predict(const Elementwise& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation =
        or_default(execution.implementation, Implementation::fused);
    if (!is_one_of(implementation,
                   {Implementation::fused, Implementation::unfused, Implementation::eager})) {
        return refuse(op, implementation);
    }
    Prediction prediction = streaming_prediction(elementwise_work(op, implementation), op.type,
                                                 execution, implementation, machine);
    prediction.footprint = footprint(op, implementation, pass_of(op.direction)).total();
    return prediction;
}

Outcome predict(const RowWise& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation =
        or_default(execution.implementation, Implementation::fused);
    const bool manual = implementation == Implementation::manual;
    if (manual && (op.kind != RowKind::softmax || op.direction != Direction::forward)) {
        return refuse(op, implementation);
    }
    if (!manual && !is_one_of(implementation, {Implementation::fused, Implementation::library,
                                               Implementation::eager})) {
        return refuse(op, implementation);
    }
    Prediction prediction = streaming_prediction(row_work(op, implementation), op.type, execution,
                                                 implementation, machine);
    if (manual) {
        prediction.footprint +=
            static_cast<double>(op.rows) * static_cast<double>(op.cols) *
            static_cast<double>(size_of(op.type)) * 2.0 * units::B;
    }
    return prediction;
}

Outcome predict(const Transpose& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation =
        or_default(execution.implementation, Implementation::library);
    if (!is_one_of(implementation, {Implementation::library, Implementation::naive,
                                    Implementation::tiled, Implementation::eager})) {
        return refuse(op, implementation);
    }
    return streaming_prediction(transpose_work(op, implementation, machine.dram_sector), op.type,
                                execution, implementation, machine);
}

Outcome predict(const Copy& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation =
        or_default(execution.implementation, Implementation::library);
    if (!is_one_of(implementation, {Implementation::library, Implementation::eager})) {
        return refuse(op, implementation);
    }
    return streaming_prediction(copy_work(op), op.type, execution, implementation, machine);
}

Outcome predict(const Gather& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation =
        or_default(execution.implementation, Implementation::library);
    if (!is_one_of(implementation, {Implementation::library, Implementation::eager})) {
        return refuse(op, implementation);
    }
    Prediction prediction = streaming_prediction(gather_work(op, machine.dram_sector), op.type,
                                                 execution, implementation, machine);
    const double row_bytes =
        static_cast<double>(op.cols) * static_cast<double>(size_of(op.type));
    const double untouched =
        static_cast<double>(op.table_rows - std::min(op.rows, op.table_rows));
    prediction.footprint += untouched * row_bytes * units::B;
    const double efficiency = gather_sector_efficiency(op, machine.dram_sector);
    if (efficiency < 1.0) prediction.note(NoteCode::sparse_gather, efficiency);
    return prediction;
}

}  // namespace ridge::model
