#include "cli/console/json_document.h"

#include <ostream>
#include <string>

namespace ridge::cli {
namespace {

constexpr int schema_version = 1;

}  // namespace

void write_document(std::ostream& out, std::string_view kind, const Json& json) {
    Json document = Json::object();
    document["schema"] = "ridge/" + std::string(kind) + "/" + std::to_string(schema_version);
    for (const JsonMember& member : json.members()) document[member.name] = member.value;
    out << (json.is_object() ? document : json).text(2) << '\n';
}

}  // namespace ridge::cli
