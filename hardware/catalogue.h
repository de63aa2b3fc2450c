// All GPUs that ridge knows, found by name: embedded in the binary, or the user's own.
//
//   const Catalogue catalogue = Catalogue::with_user_files(device_schema());
//   const Description& gpu = catalogue.at("h100-sxm");
//   catalogue.at("NVIDIA H100 80GB HBM3");                    // the same: what the driver calls it
//   catalogue.at("h200-sxm", View::datasheet);                // without measured overlays
//
// Names are compared whole, never by part, so that "NVIDIA L40S" cannot become an L4: case and
// punctuation do not count, nor does a leading maker's name. A file with kind = "overlay" adds its
// fields to the device it names; `corrections = "b200"` in a device's file gives it the residual
// corrections of that device (View::calibrated), as far as built-in overlays hold them and it has none
// of its own. A user's file takes the place of the built-in one of the same name, and a user's overlay
// lies over the built-in overlay; `Description::origin` says so.
//
// The schema says which fields the files may have; `model/machine/catalogue.h` makes the catalogue
// that predictions need.
//
// Method: reading the catalogue only reads the first lines of each file, and `at` loads, inherits,
// overlays and checks the one that is asked for, once. Descriptions stay valid as long as the
// catalogue does; `at` may be called from several threads.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/description.h"
#include "hardware/document.h"
#include "hardware/schema.h"
#include "hardware/shared_text.h"

namespace ridge::hardware {

/// What of the files is shown: everything; all but the residual corrections; nor the overlays, which
/// leaves the datasheet's description.
enum class View { calibrated, analytic, datasheet };

/// A description that lies over a device.
struct OverlayEntry {
    std::string origin;  ///< "built in" or the user's file
    std::string target;  ///< the device it names, known or not
};

/// One line of a list of devices.
struct CatalogueEntry {
    std::string name;
    std::string title;
    std::string vendor;
    std::vector<std::string> aliases;
    std::string origin;  ///< "built in" or the user's file
};

class Catalogue {
  public:
    /// The devices in the binary, whose fields are those of `schema`.
    [[nodiscard]] static Catalogue embedded(const Schema& schema);

    /// Those and $XDG_CONFIG_HOME/ridge/gpus/*.toml (by default ~/.config/ridge/gpus/*.toml).
    /// Files that cannot be understood are left out, and `left_out` says why.
    /// `without`: one that does not count, such as the overlay that is about to be made anew.
    [[nodiscard]] static Catalogue with_user_files(const Schema& schema,
                                                   std::string_view without = {});
    [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

    [[nodiscard]] const Schema& schema() const { return schema_; }

    /// Adds a file (device, architecture or overlay) and returns the name of the device it
    /// describes or adds to. InputError when it cannot be read or its header is broken.
    std::string add_file(const std::string& path);

    /// The same for a text that stands in no file.
    std::string add_text(const std::string& toml, const std::string& origin);

    /// Every device, sorted by name.
    [[nodiscard]] std::vector<CatalogueEntry> entries() const;

    /// Every overlay, in the order in which they apply.
    [[nodiscard]] std::vector<OverlayEntry> overlays() const;

    /// The device of this name or alias. InputError: unknown (with near names), or broken (with
    /// all problems of its file).
    [[nodiscard]] const Description& at(std::string_view name, View view = View::calibrated) const;

    /// The catalogue's own name for a name, alias or driver's name; "" when there is none.
    [[nodiscard]] std::string canonical_name(std::string_view name) const;

    /// Names near one that is unknown: "did you mean h100-sxm?".
    [[nodiscard]] std::string suggestion(std::string_view name) const;

    /// The device with all problems of its files instead of an exception.
    [[nodiscard]] std::pair<Description, std::vector<Problem>> inspect(std::string_view name,
                                                                       View view) const;

  private:
    explicit Catalogue(Schema schema);

    struct Item {
        Description header;
        SharedText text;       ///< of the file
        std::string replaced;  ///< origin of the file that this one replaces
    };
    using Items = std::map<std::string, Item, std::less<>>;

    void add_item(SharedText text, const std::string& file, const std::string& origin);
    void take_inheritance(Description& device, std::vector<Problem>& problems) const;
    void take_carried(Description& device, const CarriedOver& carried,
                      std::string_view architecture, std::vector<Problem>& problems) const;
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

/// $XDG_CONFIG_HOME/ridge/gpus; empty where there is no home either.
[[nodiscard]] std::string user_folder();

/// All problems of a file: syntax, fields, units, sources, cross-checks with what it inherits.
/// InputError when it cannot be read.
[[nodiscard]] std::vector<Problem> check_file(const std::string& path, const Schema& schema);

}  // namespace ridge::hardware
