// A footprint, tensor by tensor.
//
//   Parts parts;
//   parts.add("q", bytes, Phase::input);
//   return parts.footprint();
#pragma once

#include <string_view>

#include "model/footprint/footprint.h"

namespace ridge::model {

class Parts {
  public:
    void add(std::string_view name, double bytes, Phase phase) {
        if (bytes > 0.0) {
            footprint_.parts.push_back(
                {.name = name, .bytes = Bytes::from_base(bytes), .phase = phase});
        }
    }
    [[nodiscard]] const Footprint& footprint() const { return footprint_; }

  private:
    Footprint footprint_;
};

}  // namespace ridge::model
