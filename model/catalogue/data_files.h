// The files of software/ and calibration/: those in the binary and the user's own.
//
//   DataFiles files = DataFiles::embedded();
//   files.find("calibration/h200-sxm/pytorch-2.11.toml");     // the user's first, then the built-in one
//   files.carry_over().rules;                                 // calibration/carry-over.toml
//
// Four kinds of file, by the header's `kind`, and one that is no TOML:
//
//   software      software/NAME-VERSION/software.toml          what software runs (`software.h`)
//   calibration   calibration/CHIP/SOFTWARE.toml               what fits found for a chip, or for an
//                 calibration/ARCHITECTURE/SOFTWARE.toml       architecture, and software
//   carry-over    calibration/carry-over.toml                  what carries over between chips
//   laws          calibration/laws.toml                        constants of the laws, for every chip
//   (trees)       calibration/CHIP/SOFTWARE.trees              residual corrections (`trees_file.h`)
//
// Limits: files in the binary are found by their path and not read until a device needs them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/description.h"
#include "hardware/loader.h"
#include "hardware/shared_text.h"
#include "model/catalogue/software.h"

namespace ridge::model {

struct DataFile {
    std::string path;    ///< as users see it
    std::string origin;  ///< "built in" or the user's file
    SharedText text;
};

/// Parameters that an architecture, or every chip, takes from a chip or another architecture, unless
/// its own files have them.
struct CarryRule {
    std::string to;                  ///< name of an architecture; "*": every chip
    std::string from;                ///< name of a chip or an architecture
    std::vector<std::string> paths;  ///< fields, and sections with all that they hold
    Location location;
};

struct CarryOver {
    std::vector<CarryRule> rules;  ///< in the order in which they apply
    std::map<std::string, std::string, std::less<>>
        corrections;  ///< chip -> whose corrections it uses
};

[[nodiscard]] const hardware::Form& calibration_form();
[[nodiscard]] const hardware::Form& carry_over_form();
[[nodiscard]] const hardware::Form& laws_form();

/// The rules of a row [[carried_over]]. `to`: the architecture whose file holds it, if the row names
/// none. Adds to `problems` what is missing.
[[nodiscard]] CarryRule carry_rule(const hardware::Row& row, const std::string& to,
                                   std::vector<hardware::Problem>& problems);

/// Whether a file of this kind belongs here.
[[nodiscard]] bool is_data_kind(std::string_view kind);

class DataFiles {
  public:
    [[nodiscard]] static DataFiles embedded();

    /// Adds a user's file and returns the chip or architecture that it is about; "" for others.
    /// InputError when its header is broken.
    std::string add(const std::string& text, const std::string& origin);

    /// The files that stand for a path.
    [[nodiscard]] std::vector<DataFile> find(const std::string& path) const;

    /// The file that users see under this path; empty if there is none.
    [[nodiscard]] std::optional<DataFile> at(std::string_view path) const;

    [[nodiscard]] const std::vector<Software>& software() const { return software_; }

    /// All rules, users' first. InputError when a file is broken.
    [[nodiscard]] CarryOver carry_over() const;

  private:
    void add_software(Software software);
    /// Replaces an earlier text of the same file.
    void add_users(const std::string& place, DataFile file);

    std::vector<Software> software_;
    std::multimap<std::string, DataFile, std::less<>> users_;  ///< by path in the source tree
};

}  // namespace ridge::model
