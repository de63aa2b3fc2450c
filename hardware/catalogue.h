// All GPUs that ridge knows, found by name: those embedded in the binary and the user's own.
//
//   const Catalogue catalogue = Catalogue::with_user_files(device_schema());
//   const Description& gpu = catalogue.at("h100-sxm");
//   catalogue.at("NVIDIA H100 80GB HBM3");                    // the same GPU by its driver's name
//   catalogue.at("h200-sxm", View::datasheet);                // without measured overlays
//
// Names are compared as a whole, never in part, so that "NVIDIA L40S" cannot match an L4. Case,
// punctuation and a leading vendor name are ignored. A file with kind = "overlay" adds its fields
// to the device that it names. With `corrections = "b200"`, a device uses the residual corrections
// that built-in overlays give to that other device (View::calibrated), unless it has its own. A
// user's file replaces the built-in file of the same name, and a user's overlay applies on top of
// the built-in overlay; `Description::origin` says so.
//
// The schema says which fields the files may have; `model/machine/catalogue.h` makes the catalogue
// that predictions need.
//
// Method: the catalogue at first reads only the header lines of each file. `at` loads the requested
// device, applies inheritance and overlays, and checks it, once. Descriptions stay valid as long as
// the catalogue does; `at` may be called from several threads.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/description.h"
#include "hardware/document.h"
#include "hardware/schema.h"
#include "hardware/shared_text.h"

namespace ridge::hardware {

/// Which data a description includes: everything; everything except the residual corrections; or
/// no overlays either, which leaves the description from the datasheet.
enum class View { calibrated, analytic, datasheet };

/// An overlay that adds fields to a device.
struct OverlayEntry {
    std::string origin;  ///< "built in" or the user's file
    std::string target;  ///< the device that it names, known or not
};

/// One row of a list of devices.
struct CatalogueEntry {
    std::string name;
    std::string title;
    std::string vendor;
    std::vector<std::string> aliases;
    std::string origin;  ///< "built in" or the user's file
};

class Catalogue {
  public:
    /// The devices in the binary; `schema` defines their fields.
    [[nodiscard]] static Catalogue embedded(const Schema& schema);

    /// These and the files $XDG_CONFIG_HOME/ridge/gpus/*.toml (by default
    /// ~/.config/ridge/gpus/*.toml). Files that cannot be understood are skipped, and `left_out`
    /// says why. `without`: a file to skip, for example an overlay that is about to be written
    /// again.
    [[nodiscard]] static Catalogue with_user_files(const Schema& schema,
                                                   std::string_view without = {});
    [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

    [[nodiscard]] const Schema& schema() const { return schema_; }

    /// Adds a file (device, architecture or overlay) and returns the name of the device that it
    /// describes or adds to. InputError when it cannot be read or its header is broken.
    std::string add_file(const std::string& path);

    /// The same from a text instead of a file.
    std::string add_text(const std::string& toml, const std::string& origin);

    /// Every device, sorted by name.
    [[nodiscard]] std::vector<CatalogueEntry> entries() const;

    /// Every overlay, in the order in which they apply.
    [[nodiscard]] std::vector<OverlayEntry> overlays() const;

    /// The device with this name or alias. InputError when the name is unknown (with similar
    /// names), or when its file is broken (with all problems).
    [[nodiscard]] const Description& at(std::string_view name, View view = View::calibrated) const;

    /// The catalogue's own name for a name, alias or driver's name; "" if there is none.
    [[nodiscard]] std::string canonical_name(std::string_view name) const;

    /// Names similar to an unknown one: "did you mean h100-sxm?".
    [[nodiscard]] std::string suggestion(std::string_view name) const;

    /// The device together with all problems of its files, instead of an exception.
    [[nodiscard]] std::pair<Description, std::vector<Problem>> inspect(std::string_view name,
                                                                       View view) const;

  private:
    explicit Catalogue(Schema schema);

    struct Item {
        Description header;
        SharedText text;       ///< content of the file
        std::string replaced;  ///< origin of the file that this one replaces
    };
    using Items = std::map<std::string, Item, std::less<>>;

    void add_item(SharedText text, const std::string& file, const std::string& origin);
    void take_inheritance(Description& device, std::vector<Problem>& problems) const;
    void take_carried(Description& device, const CarriedOver& carried,
                      std::span<const std::string> architectures,
                      std::vector<Problem>& problems) const;
    void take_corrections(Description& device, std::vector<Problem>& problems) const;

    Schema schema_;
    Items devices_;
    Items architectures_;
    std::vector<Item> overlays_;
    std::vector<std::string> left_out_;
    std::map<std::string, std::string, std::less<>> names_;  ///< folded name or alias -> name

    struct Cache {
        std::mutex mutex;
        std::map<std::pair<std::string, View>, Description> loaded;
    };
    std::unique_ptr<Cache> cache_ = std::make_unique<Cache>();
};

/// $XDG_CONFIG_HOME/ridge/gpus; empty if there is no home directory either.
[[nodiscard]] std::string user_folder();

/// All problems of a file: syntax, fields, units, sources, and cross-checks with what it inherits.
/// InputError when the file cannot be read.
[[nodiscard]] std::vector<Problem> check_file(const std::string& path, const Schema& schema);

}  // namespace ridge::hardware
