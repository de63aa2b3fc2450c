#include "measure/record/choice_json.h"

#include "hardware/error.h"

namespace ridge::measure {

Json json_of(const CollectiveChoice& choice) {
    Json json{{"library", choice.library},
              {"algorithm", choice.algorithm},
              {"protocol", choice.protocol}};
    if (choice.channels) json["channels"] = *choice.channels;
    return json;
}

CollectiveChoice choice_in(const Json& json) {
    const auto text = [&json](const char* name) {
        const Json* const found = json.find(name);
        const std::string* const word = found == nullptr ? nullptr : found->if_text();
        if (word == nullptr) throw InputError("collective." + std::string(name) + " must be text");
        return *word;
    };
    CollectiveChoice choice{
        .library = text("library"), .algorithm = text("algorithm"), .protocol = text("protocol")};
    if (const Json* const channels = json.find("channels")) {
        choice.channels = channels->if_whole();
        if (!choice.channels || *choice.channels < 0) {
            throw InputError("collective.channels must be a count");
        }
    }
    return choice;
}

}  // namespace ridge::measure
