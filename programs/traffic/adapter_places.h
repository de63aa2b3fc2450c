// Which adapters are on the GPUs of a server: as many as it has slots.
//
//   AdapterPlaces places(8);
//   places.may_use(3);            // whether it is there, or a slot is free of running sequences
//   places.use(3);                // true: it has to be copied from the host first
//   places.leave(3);
//
// An adapter that no sequence uses stays until another needs its slot, the one unused for longest first.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace ridge::programs {

class AdapterPlaces {
  public:
    explicit AdapterPlaces(std::int64_t slots) : slots_(slots) {}

    /// -1, which stands for none, may always be used.
    [[nodiscard]] bool may_use(std::int64_t adapter) const;
    [[nodiscard]] bool use(std::int64_t adapter);
    void leave(std::int64_t adapter);
    /// That sequences use.
    [[nodiscard]] std::int64_t used() const { return used_; }

  private:
    struct Place {
        std::int64_t users = 0;
        std::list<std::int64_t>::iterator idle{};  ///< if it has no users
    };
    std::int64_t slots_;
    std::int64_t used_ = 0;
    std::list<std::int64_t> idle_{};  ///< the one unused for longest first
    std::unordered_map<std::int64_t, Place> places_{};
};

}  // namespace ridge::programs
