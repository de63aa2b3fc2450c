#include "model/machine/cluster.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <vector>

#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/nearest.h"
#include "hardware/units.h"

namespace ridge::model {
namespace {

using hardware::Document;
using TomlNode = hardware::Node;
using hardware::NodeKind;

constexpr std::array<std::string_view, 10> cluster_fields{
    "schema",  "kind",       "name",    "domain",           "nodes",
    "network", "efficiency", "latency", "oversubscription", "sources"};

class ClusterReader {
  public:
    ClusterReader(const Document& document, const std::string& file)
        : root_(document.root), file_(file) {
        for (const TomlNode& node : root_.children) {
            const bool known = std::find(cluster_fields.begin(), cluster_fields.end(), node.key) !=
                               cluster_fields.end();
            if (known) continue;
            const std::vector<std::string> names(cluster_fields.begin(), cluster_fields.end());
            const std::string near = nearest(std::string(node.key), names);
            throw InputError("unknown field '" + std::string(node.key) + "'", node.key_location(),
                             near.empty() ? "" : "did you mean '" + near + "'?");
        }
    }

    [[nodiscard]] std::string text(const char* name) const {
        const TomlNode& node = at(name);
        if (node.kind != NodeKind::text) fail(node, name, "must be text");
        return std::string(node.text);
    }
    [[nodiscard]] std::int64_t count(const char* name, std::int64_t most) const {
        const TomlNode& node = at(name);
        if (node.kind != NodeKind::integer || node.integer < 1 || node.integer > most) {
            fail(node, name, "must be a number from 1 to " + std::to_string(most));
        }
        return node.integer;
    }
    [[nodiscard]] double number(const char* name, double least, double most) const {
        const TomlNode& node = at(name);
        const bool whole = node.kind == NodeKind::integer;
        const double value = whole ? static_cast<double>(node.integer) : node.real;
        if ((!whole && node.kind != NodeKind::real) || !(value >= least) || !(value <= most)) {
            fail(node, name,
                 "must be from " + std::to_string(least) + " to " + std::to_string(most));
        }
        return value;
    }
    template <class Q>
    [[nodiscard]] Q quantity(const char* name) const {
        const TomlNode& node = at(name);
        if (node.kind != NodeKind::text) fail(node, name, "must be a quantity with a unit");
        try {
            const Q value = parse_quantity<Q>(node.text);
            if (value.base() > 0.0) return value;
        } catch (const InputError& error) {
            fail(node, name, error.message());
        }
        fail(node, name, "must be more than zero");
    }

  private:
    [[nodiscard]] const TomlNode& at(const char* name) const {
        const TomlNode* const node = root_.child(name);
        if (node == nullptr) {
            throw InputError(std::string(name) + " is missing", {.file = file_},
                             "docs/gpu-files.md lists the fields of a cluster");
        }
        return *node;
    }
    [[noreturn]] static void fail(const TomlNode& node, const char* name, const std::string& what) {
        throw InputError(std::string(name) + " " + what, node.location());
    }

    const TomlNode& root_;
    const std::string& file_;
};

}  // namespace

Cluster parse_cluster(std::string_view text, const std::string& file) {
    const Document document = hardware::parse_document(text, file);
    if (document.problem) {
        throw InputError(document.problem->message, document.problem->location);
    }
    const ClusterReader reader(document, file);
    if (reader.text("kind") != "cluster") {
        throw InputError("kind must be \"cluster\"", {.file = file});
    }
    constexpr std::int64_t most_gpus = 1'000'000;
    Cluster cluster{.name = reader.text("name"),
                    .domain = reader.count("domain", most_gpus),
                    .nodes = reader.count("nodes", most_gpus),
                    .network = reader.quantity<Bandwidth>("network"),
                    .efficiency = reader.number("efficiency", 0.01, 1.0),
                    .latency = reader.quantity<Time>("latency"),
                    .oversubscription = reader.number("oversubscription", 1.0, 100.0)};
    static_cast<void>(reader.count("schema", 1));
    return cluster;
}

Cluster read_cluster(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw InputError("cannot be opened", {.file = file});
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return parse_cluster(text, file);
}

}  // namespace ridge::model
