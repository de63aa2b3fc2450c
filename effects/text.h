// The places of an effect's text and the figures that fill them; effect.h has the grammar.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "effects/study.h"

namespace ridge::effects {

enum class Taken { predicted, measured };

class Places {
  public:
    /// Keeps references to `study` and `subject`.
    Places(const Study& study, const Subject& subject, std::map<std::string, std::string> facts);

    /// The ratio of two places "id@x"; empty if one of them is unknown or not positive.
    [[nodiscard]] std::optional<double> ratio(std::string_view above, std::string_view below,
                                              Taken taken) const;

    /// The paragraphs without the sentences that cannot be filled; the places of those sentences go
    /// to `unfilled`.
    [[nodiscard]] std::vector<std::string> filled(std::string_view text,
                                                  std::vector<std::string>& unfilled) const;

  private:
    struct Found {
        double value = 0.0;
        Quantity quantity = Quantity::number;
    };
    [[nodiscard]] std::optional<Found> find(std::string_view place, Taken taken) const;
    [[nodiscard]] std::optional<std::string> figure(std::string_view place) const;
    [[nodiscard]] bool any_measured() const;
    [[nodiscard]] std::optional<std::string> sentence(std::string_view line,
                                                      std::vector<std::string>& unfilled) const;

    const Study& study_;
    std::map<std::string, std::string> facts_;
};

}  // namespace ridge::effects
