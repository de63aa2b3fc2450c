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
    Places(const Study& study, const Subject& subject, std::map<std::string, std::string> facts,
           std::map<std::string, double> numbers = {});

    /// The ratio of two places "id@x"; empty if one of them is unknown or not positive.
    [[nodiscard]] std::optional<double> ratio(std::string_view above, std::string_view below,
                                              Taken taken) const;

    /// Whether a place "id@x" is predicted from a data sheet alone and was not measured.
    [[nodiscard]] bool only_bounded(std::string_view place) const;

    /// The sentences whose relations hold and whose places can be filled, by paragraph; places that
    /// cannot be filled go to `unfilled`.
    [[nodiscard]] std::vector<std::vector<Claim>> claims(std::string_view text,
                                                         std::vector<std::string>& unfilled) const;

  private:
    struct Found {
        double value = 0.0;
        Quantity quantity = Quantity::number;
        bool only_bounded = false;
    };
    [[nodiscard]] std::optional<Found> find(std::string_view place, Taken taken) const;
    [[nodiscard]] std::optional<std::string> figure(std::string_view place) const;
    [[nodiscard]] bool any_measured() const;
    [[nodiscard]] std::optional<double> operand(std::string_view text) const;
    [[nodiscard]] std::optional<std::vector<Relation>> relations(std::string_view text) const;
    [[nodiscard]] std::optional<std::string> sentence(std::string_view line,
                                                      std::vector<std::string>& unfilled) const;

    const Study& study_;
    std::map<std::string, std::string> facts_;
    std::map<std::string, double> numbers_;
};

/// The sentences of each paragraph as one text.
[[nodiscard]] std::vector<std::string> paragraphs_of(const std::vector<std::vector<Claim>>& claims);

}  // namespace ridge::effects
