// The lines of a family's sections, merged over its bases, and what they become.
#pragma once

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "programs/families/family.h"

namespace ridge::programs {

class FamilySources {
  public:
    /// A line replaces the one that defines the same name, in place if the section is the same.
    /// Checks are only added.
    void add(FamilySection section, FamilyLine line);
    [[nodiscard]] const std::vector<FamilyLine>& lines(FamilySection section) const {
        return lines_[static_cast<std::size_t>(section)];
    }

  private:
    std::array<std::vector<FamilyLine>, section_names.size()> lines_;
};

/// Parses all lines into the family.
void build_sections(Family& family, const FamilySources& sources);

}  // namespace ridge::programs
