// GPUs as predictions need them: the facts of a chip (`hardware/`), what software runs (`software/`)
// and what fits found for the two (`calibration/`), put together.
//
//   const Catalogue gpus = Catalogue::with_user_files();
//   const Machine machine = gpus.machine("h100-sxm");
//   gpus.at("h200-sxm", View::analytic);                     // without residual corrections
//   gpus.at("h200-sxm", View::calibrated, "pytorch-2.1");    // with this version of PyTorch
//
// Method. For a device and the software that counts (`stack_of`), the first of these that has a field
// gives it:
//
//   1. overlays of the device (measured ceilings; users' own)
//   2. the device's file, then its calibrations and corrections
//   3. for each architecture that it inherits: its file, its calibrations, what carries over to it
//   4. the files of the software
//   5. what carries over to every chip
//   6. the laws
//
// A calibration for another version of the same software serves where the chip has none for this one.
// Software counts only on chips that have the facts that it needs. A user's files of every kind lie in
// $XDG_CONFIG_HOME/ridge/{gpus,software,calibration} (by default ~/.config/ridge) or are added one by
// one. Files of version 0.1, which held parameters beside the facts, are read as they are: their
// parameters count before the calibrations of the device or architecture.
//
// Descriptions stay valid until a file is added to the catalogue or it ends; `at` may be called from
// several threads. What is in the binary is read once in a process; a catalogue with other files reads
// it again for itself.
// Limits: a field that two parts of a stack claim comes from the one whose family is first by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/catalogue.h"
#include "model/catalogue/data_files.h"
#include "model/machine/machine.h"
#include "model/machine/schema.h"

namespace ridge::model {

using hardware::CatalogueEntry;
using hardware::OverlayEntry;

/// Which data a description includes: everything; everything except the residual corrections; or
/// neither these nor overlays, which leaves the datasheet's facts and the parameters.
enum class View { calibrated, analytic, datasheet };

class Catalogue {
  public:
    /// What is in the binary.
    [[nodiscard]] static Catalogue embedded();

    /// The same and the user's files. Those that cannot be understood are skipped, and `left_out` says
    /// why. `without`: a file to skip, for example an overlay that is about to be written again.
    [[nodiscard]] static Catalogue with_user_files(std::string_view without = {});
    [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

    Catalogue(Catalogue&&) noexcept = default;
    Catalogue& operator=(Catalogue&&) noexcept = default;
    Catalogue(const Catalogue&) = delete;
    Catalogue& operator=(const Catalogue&) = delete;
    ~Catalogue() = default;

    /// Adds a file of any kind and returns the name of the device that it describes or adds to; ""
    /// if it is about none. InputError when it cannot be read or its header is broken.
    std::string add_file(const std::string& path);

    /// The same from a text instead of a file.
    std::string add_text(const std::string& text, const std::string& origin);

    /// Every device, sorted by name.
    [[nodiscard]] std::vector<CatalogueEntry> entries() const { return chips().entries(); }

    /// Every overlay, in the order in which they apply.
    [[nodiscard]] std::vector<OverlayEntry> overlays() const { return chips().overlays(); }

    /// All software, in no order.
    [[nodiscard]] const std::vector<Software>& software() const { return files().software(); }

    /// The device with this name or alias. `software`: a name with or without version; empty: none is
    /// chosen. InputError when a name is unknown (with similar names), or when a file is broken (with
    /// all problems).
    [[nodiscard]] const hardware::Description& at(std::string_view name,
                                                  View view = View::calibrated,
                                                  std::string_view software = {}) const;

    /// The device together with all problems of its files, instead of an exception.
    [[nodiscard]] std::pair<hardware::Description, std::vector<hardware::Problem>> inspect(
        std::string_view name, View view, std::string_view software = {}) const;

    /// See `hardware::Catalogue`.
    [[nodiscard]] std::string canonical_name(std::string_view name) const {
        return chips().canonical_name(name);
    }
    [[nodiscard]] std::string suggestion(std::string_view name) const {
        return chips().suggestion(name);
    }

    [[nodiscard]] const hardware::Catalogue& chips() const;
    [[nodiscard]] const DataFiles& files() const;

    /// The machine of a device. It resolves itself for other software when an operation asks for that
    /// (`Machine::software`), also after the catalogue is gone.
    [[nodiscard]] Machine machine(std::string_view name, View view = View::calibrated,
                                  SoftwareChoice software = {}) const;

    /// The machine of a description that was made from this catalogue's and changed.
    [[nodiscard]] Machine machine(const hardware::Description& device,
                                  SoftwareChoice software) const;

    struct Contents;

  private:
    explicit Catalogue(std::shared_ptr<Contents> contents);

    std::shared_ptr<Contents> contents_;  ///< of machines and other catalogues, too
    std::vector<std::string> left_out_;
};

/// What is in the binary.
[[nodiscard]] Catalogue catalogue();

/// $XDG_CONFIG_HOME/ridge/gpus; empty if there is no home directory either.
[[nodiscard]] std::string user_folder();

/// All problems of a file of any kind: syntax, fields, units, sources, cross-checks with what it
/// inherits, parameters that are not its software's, and the digest. InputError when it cannot be read.
[[nodiscard]] std::vector<hardware::Problem> check_file(const std::string& path);

/// The same for a text.
[[nodiscard]] std::vector<hardware::Problem> check_text(const std::string& text,
                                                        const std::string& path);

}  // namespace ridge::model
