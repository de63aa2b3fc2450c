// All GPUs that ridge knows, found by name: those embedded in the binary and the user's own.
//
//   const Catalogue catalogue = Catalogue::embedded(device_schema());
//   const Description& gpu = catalogue.at("h100-sxm");
//   catalogue.at("NVIDIA H100 80GB HBM3");                    // the same GPU by its driver's name
//   catalogue.at("h200-sxm", Overlays::left_out);             // without measured overlays
//
// Names are compared as a whole, never in part, so that "NVIDIA L40S" cannot match an L4. Case,
// punctuation and a leading vendor name are ignored. A file with kind = "overlay" adds its fields
// to the device that it names. A user's file replaces the built-in file of the same name, and a
// user's overlay applies on top of the built-in overlay; `Description::origin` says so.
//
// The schema says which fields the files may have, and a form what else. The facts alone make no
// prediction: `model/catalogue/catalogue.h` adds what it needs.
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
#include "hardware/loader.h"
#include "hardware/schema.h"
#include "hardware/shared_text.h"

namespace ridge::hardware {

/// Whether overlays add to a description; without them the datasheet's facts are left.
enum class Overlays { applied, left_out };

/// What a device's description is put together from.
struct Layers {
    Description device;                      ///< the device's own file
    std::vector<Description> architectures;  ///< what it inherits, the nearest first
    std::vector<Description> overlays;       ///< in the order in which they apply
    std::vector<Problem> problems;
};

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
    /// The devices in the binary. `schema` defines the fields of files, `form` what else users' files
    /// may hold; what it points to must outlive the catalogue.
    [[nodiscard]] static Catalogue embedded(const Schema& schema, const Form& form = {});

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
    [[nodiscard]] const Description& at(std::string_view name,
                                        Overlays overlays = Overlays::applied) const;

    /// The catalogue's own name for a name, alias or driver's name; "" if there is none.
    [[nodiscard]] std::string canonical_name(std::string_view name) const;

    /// Names similar to an unknown one: "did you mean h100-sxm?".
    [[nodiscard]] std::string suggestion(std::string_view name) const;

    /// The device together with all problems of its files, instead of an exception.
    [[nodiscard]] std::pair<Description, std::vector<Problem>> inspect(std::string_view name,
                                                                       Overlays overlays) const;

    /// The parts of that description, for code that adds its own.
    [[nodiscard]] Layers layers(std::string_view name, Overlays overlays) const;

    /// The fields and sections that `only` names, of the file of a device or architecture alone. Empty
    /// for the files in the binary and for unknown names.
    [[nodiscard]] Loaded user_fields(const std::string& name,
                                     std::span<const std::string> only) const;

    /// The header of the file of a device or architecture; null if there is none.
    [[nodiscard]] const Description* header(std::string_view name) const;

  private:
    Catalogue(Schema schema, const Form& form);

    struct Item {
        Description header;
        SharedText text;       ///< content of the file
        std::string replaced;  ///< origin of the file that this one replaces
    };
    using Items = std::map<std::string, Item, std::less<>>;

    void add_item(SharedText text, const std::string& file, const std::string& origin);
    [[nodiscard]] const Item* item(std::string_view name) const;
    [[nodiscard]] Description loaded(const Item& item, std::vector<Problem>& problems) const;
    void add_architectures(Layers& layers) const;

    Schema schema_;
    Form form_;
    Items devices_;
    Items architectures_;
    std::vector<Item> overlays_;
    std::map<std::string, std::string, std::less<>> names_;  ///< folded name or alias -> name

    struct Cache {
        std::mutex mutex;
        std::map<std::pair<std::string, Overlays>, Description> loaded;
    };
    std::unique_ptr<Cache> cache_ = std::make_unique<Cache>();
};

/// The origin of files in the binary.
inline constexpr std::string_view built_in = "built in";

/// All problems of a file: syntax, fields, units, sources, and cross-checks with what it inherits.
/// InputError when the file cannot be read.
[[nodiscard]] std::vector<Problem> check_file(const std::string& path, const Schema& schema);

}  // namespace ridge::hardware
