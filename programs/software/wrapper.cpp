#include "programs/software/wrapper.h"

#include <vector>

#include "hardware/document.h"
#include "hardware/error.h"
#include "hardware/units.h"

namespace ridge::programs {
namespace {

using hardware::Node;

const Node& entry_of_wrapper(const Node& table, std::string_view key) {
    const Node* node = table.child(key);
    if (node == nullptr) {
        throw InputError("wrapper: '" + std::string(key) + "' is missing", table.location());
    }
    return *node;
}

std::int64_t bytes_in(const Node& table, std::string_view key) {
    return static_cast<std::int64_t>(
        parse_quantity<Bytes>(entry_of_wrapper(table, key).text).base());
}

double launches_in(const Node& table, std::string_view key) {
    return entry_of_wrapper(table, key).real;
}

std::vector<Wrapper> read_wrappers() {
    std::vector<Wrapper> all;
    for (const hardware::EmbeddedFile& file : embedded_wrappers()) {
        const hardware::Document document =
            hardware::parse_document(file.text, std::string(file.path));
        RIDGE_CONTRACT(!document.problem);
        for (const Node& table : entry_of_wrapper(document.root, "wrapper").children) {
            all.push_back({.name = std::string(entry_of_wrapper(table, "name").text),
                           .source = std::string(entry_of_wrapper(table, "source").text),
                           .bucket = bytes_in(table, "bucket"),
                           .first_bucket = bytes_in(table, "first_bucket"),
                           .per_step = launches_in(table, "per_step"),
                           .per_collective = launches_in(table, "per_collective"),
                           .per_parameter = launches_in(table, "per_parameter")});
        }
    }
    return all;
}

}  // namespace

const Wrapper& find_wrapper(std::string_view name) {
    static const std::vector<Wrapper> all = read_wrappers();
    std::string names;
    for (const Wrapper& each : all) {
        if (each.name == name) return each;
        names += (names.empty() ? "" : ", ") + each.name;
    }
    throw InputError("wrapper: '" + std::string(name) + "' is not known", {}, "one of " + names);
}

const Wrapper& wrapper_of(const Request& request) {
    if (request.data_parallel < 2) return find_wrapper("dtensor");
    if (request.zero == 0) return find_wrapper("ddp");
    return find_wrapper(request.zero == 1 ? "zero1" : "fsdp2");
}

}  // namespace ridge::programs
