#include "programs/traffic/adapter_places.h"

#include "hardware/error.h"

namespace ridge::programs {

bool AdapterPlaces::may_use(std::int64_t adapter) const {
    if (adapter < 0 || slots_ == 0) return true;
    return places_.count(adapter) > 0 || used_ < slots_;
}

bool AdapterPlaces::use(std::int64_t adapter) {
    if (adapter < 0 || slots_ == 0) return false;
    const auto at = places_.find(adapter);
    if (at != places_.end()) {
        if (at->second.users++ == 0) {
            idle_.erase(at->second.idle);
            ++used_;
        }
        return false;
    }
    RIDGE_CONTRACT(used_ < slots_);
    if (static_cast<std::int64_t>(places_.size()) == slots_) {
        places_.erase(idle_.front());
        idle_.pop_front();
    }
    places_.emplace(adapter, Place{.users = 1});
    ++used_;
    return true;
}

void AdapterPlaces::leave(std::int64_t adapter) {
    if (adapter < 0 || slots_ == 0) return;
    Place& place = places_.at(adapter);
    if (--place.users > 0) return;
    place.idle = idle_.insert(idle_.end(), adapter);
    --used_;
}

}  // namespace ridge::programs
