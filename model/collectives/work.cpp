#include "model/collectives/work.h"

namespace ridge::model {

bool is_host_copy(CollectiveKind kind) {
    return kind == CollectiveKind::host_to_device || kind == CollectiveKind::device_to_host;
}

Bytes link_bytes(const Collective& op) {
    const auto gpus = static_cast<double>(op.gpus);
    const double others = (gpus - 1.0) / gpus;
    const Bytes message = static_cast<double>(op.bytes) * units::B;
    switch (op.kind) {
        case CollectiveKind::all_reduce:
            return 2.0 * others * message;
        case CollectiveKind::all_gather:
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::all_to_all:
            return others * message;
        default:
            return message;
    }
}

Bytes switch_bytes(const Collective& op) {
    const auto gpus = static_cast<double>(op.gpus);
    return (gpus - 1.0) / gpus * static_cast<double>(op.bytes) * units::B;
}

}  // namespace ridge::model
