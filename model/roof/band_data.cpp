#include "model/roof/band_data.h"

#include <algorithm>
#include <string>

#include "hardware/document.h"
#include "hardware/error.h"

namespace ridge::model {
namespace {

using hardware::Node;
using hardware::NodeKind;

const Node& part_of(const Node& table, std::string_view key) {
    const Node* const found = table.child(key);
    if (found == nullptr) {
        throw InputError("bands: '" + std::string(key) + "' is missing", table.location());
    }
    return *found;
}

double number_of(const Node& table, std::string_view key) {
    const Node& node = part_of(table, key);
    if (node.kind == NodeKind::integer) return static_cast<double>(node.integer);
    if (node.kind != NodeKind::real) {
        throw InputError("bands: '" + std::string(key) + "' is not a number", node.location());
    }
    return node.real;
}

/// The place of the table's key among names.
template <class Names>
std::size_t place_in(const Node& table, const Names& names) {
    const auto found = std::find(names.begin(), names.end(), table.key);
    if (found == names.end()) {
        throw InputError("bands: '" + std::string(table.key) + "' is not known",
                         table.key_location());
    }
    return static_cast<std::size_t>(found - names.begin());
}

std::array<std::string_view, resource_count> resource_names() {
    std::array<std::string_view, resource_count> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<Resource>(i));
    return names;
}

/// Reads one document.
class BandFile {
  public:
    explicit BandFile(const Node& root) : root_(root), sources_(part_of(root, "sources")) {}

    BandData read() const {
        BandData data;
        for (const Node& each : entries_of(root_, "basis")) read_basis(each, data);
        for (const Node& each : entries_of(root_, "class")) read_class(each, data);
        for (std::size_t i = 0; i < data.classes.size(); ++i) {
            const BandRow& row = data.classes[i];
            if (static_cast<std::size_t>(row.band_class) != i || row.low >= 0.0 || row.high <= 0.0)
                throw InputError("bands: no band around 1 of " + std::string(band_class_names[i]));
        }
        const auto limiters = resource_names();
        for (const Node& each : entries_of(root_, "limiter")) {
            data.limiters[place_in(each, limiters)] = {.related = number_of(each, "related"),
                                                       .alike = number_of(each, "alike"),
                                                       .unlike = number_of(each, "unlike")};
        }
        data.margins = {.unlinked_start = value_of("margin", "unlinked_start"),
                        .borrowed_prefill = value_of("margin", "borrowed_prefill"),
                        .borrowed_decode = value_of("margin", "borrowed_decode"),
                        .four_bit_fixed = value_of("margin", "four_bit_fixed"),
                        .other_version = value_of("margin", "other_version"),
                        .other_software = value_of("margin", "other_software")};
        data.factors = {.outside_range = value_of("factor", "outside_range"),
                        .beyond_data = value_of("factor", "beyond_data")};
        for (const Node& each : entries_of(root_, "width")) {
            data.widths[place_in(each, band_class_names)] = {
                number_of(each, "short"), number_of(each, "middle"), number_of(each, "long")};
        }
        for (const Node& operation : part_of(root_, "kernel").children)
            read_kernels(operation, data);
        return data;
    }

  private:
    /// Entries of a section, each with a declared source.
    const std::vector<Node>& entries_of(const Node& table, std::string_view section) const {
        const Node& found = part_of(table, section);
        for (const Node& each : found.children) check_source(each);
        return found.children;
    }

    void check_source(const Node& entry) const {
        const Node& source = part_of(entry, "source");
        if (sources_.child(source.text) != nullptr) return;
        throw InputError("bands: source '" + std::string(source.text) + "' is not declared",
                         source.location());
    }

    double value_of(std::string_view section, std::string_view key) const {
        const Node& entry = part_of(part_of(root_, section), key);
        check_source(entry);
        return number_of(entry, "value");
    }

    static void read_basis(const Node& entry, BandData& data) {
        data.bases[place_in(entry, band_basis_names)] = {
            .family_margin = number_of(entry, "relative"),
            .foreign_margin = number_of(entry, "foreign"),
            .rows = std::string(part_of(entry, "rows").text)};
    }

    static void read_class(const Node& entry, BandData& data) {
        const std::size_t place = place_in(entry, band_class_names);
        if (place == data.classes.size()) {
            throw InputError("bands: a roofline has no band", entry.key_location());
        }
        const Node& basis = part_of(entry, "basis");
        const auto found = std::find(band_basis_names.begin(), band_basis_names.end(), basis.text);
        if (found == band_basis_names.end()) {
            throw InputError("bands: basis '" + std::string(basis.text) + "' is not known",
                             basis.location());
        }
        data.classes[place] = {.band_class = static_cast<BandClass>(place),
                               .low = number_of(entry, "low"),
                               .high = number_of(entry, "high"),
                               .rows = static_cast<int>(number_of(entry, "rows")),
                               .basis = static_cast<BandBasis>(found - band_basis_names.begin())};
    }

    void read_kernels(const Node& operation, BandData& data) const {
        const auto kind = find_operation_kind(operation.key);
        if (!kind) {
            throw InputError("bands: operation '" + std::string(operation.key) + "' is not known",
                             operation.key_location());
        }
        for (const Node& each : operation.children) {
            check_source(each);
            data.kernels.push_back({.kind = *kind,
                                    .implementation = parse_implementation(each.key),
                                    .factor = number_of(each, "factor")});
        }
    }

    const Node& root_;
    const Node& sources_;
};

}  // namespace

BandData read_band_data(std::string_view text, std::string_view file) {
    const hardware::Document document = hardware::parse_document(text, std::string(file));
    if (document.problem) {
        throw InputError("bands: " + document.problem->message, document.problem->location);
    }
    return BandFile(document.root).read();
}

const BandData& band_data() {
    static const BandData data = [] {
        const hardware::EmbeddedFile& file = embedded_bands().front();
        return read_band_data(file.text, file.path);
    }();
    return data;
}

}  // namespace ridge::model
