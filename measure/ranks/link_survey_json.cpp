#include "measure/ranks/link_survey_json.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t most_bytes = std::uintmax_t{64} << 20;

template <class Q>
Json matrix_json(const PairTable<Q>& values) {
    Json rows = Json::array();
    for (const auto& line : values) {
        Json row = Json::array();
        for (const auto& value : line) row.push_back(value ? Json(value->base()) : Json());
        rows.push_back(std::move(row));
    }
    return rows;
}

const Json& member_of(const Json& json, const char* name) {
    const Json* const found = json.find(name);
    if (found == nullptr) throw InputError(std::string(name) + " is missing");
    return *found;
}

template <class Q>
PairTable<Q> matrix_of(const Json& json, const char* name, std::size_t gpus) {
    const std::vector<Json>& rows = member_of(json, name).items();
    PairTable<Q> table;
    for (const Json& row : rows) {
        auto& line = table.emplace_back();
        for (const Json& value : row.items()) {
            const std::optional<double> number = value.if_number();
            line.push_back(number ? std::optional(Q::from_base(*number)) : std::nullopt);
        }
    }
    const bool square = table.size() == gpus &&
                        std::all_of(table.begin(), table.end(),
                                    [gpus](const auto& line) { return line.size() == gpus; });
    if (!square) throw InputError(std::string(name) + " must have a row and a column for each GPU");
    return table;
}

Bandwidth rate_of(const Json& json, const char* name) {
    const std::optional<double> number = member_of(json, name).if_number();
    if (!number) throw InputError(std::string(name) + " must be a number");
    return Bandwidth::from_base(*number);
}

std::vector<std::string> texts_of(const Json* json) {
    std::vector<std::string> texts;
    if (json == nullptr) return texts;
    for (const Json& item : json->items()) {
        const std::string* const text = item.if_text();
        if (text == nullptr) throw InputError("names must be strings");
        texts.push_back(*text);
    }
    return texts;
}

/// The survey in a file; empty if it is a file of another kind.
std::optional<LinkSurvey> survey_in(const fs::path& path) {
    std::error_code error;
    if (fs::file_size(path, error) > most_bytes || error) return std::nullopt;
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const std::optional<Json> json = Json::parse(text);
    const Json* const schema = json ? json->find("schema") : nullptr;
    const std::string* const kind = schema == nullptr ? nullptr : schema->if_text();
    if (kind == nullptr || *kind != link_survey_schema) return std::nullopt;
    try {
        LinkSurvey survey = link_survey_of(*json);
        if (survey.host_name.empty()) survey.host_name = path.stem().string();
        return survey;
    } catch (const InputError& problem) {
        throw InputError(problem.what(), {.file = path.string()});
    }
}

}  // namespace

Json json_of(const LinkSurvey& survey) {
    Json hosts = Json::array();
    for (const HostLink& link : survey.host) {
        hosts.push_back({{"to_device_bytes_per_s", link.to_device.base()},
                         {"to_host_bytes_per_s", link.to_host.base()},
                         {"both_ways_bytes_per_s", link.both_ways.base()},
                         {"together_to_device_bytes_per_s", link.together_to_device.base()},
                         {"together_to_host_bytes_per_s", link.together_to_host.base()},
                         {"pageable_to_device_bytes_per_s", link.pageable_to_device.base()},
                         {"pageable_to_host_bytes_per_s", link.pageable_to_host.base()}});
    }
    Json json{{"gpus", survey.gpus}};
    if (!survey.serials.empty()) json["serials"] = survey.serials;
    if (!survey.host_name.empty()) json["host_name"] = survey.host_name;
    json["one_way_bytes_per_s"] = matrix_json(survey.one_way);
    json["both_ways_bytes_per_s"] = matrix_json(survey.both_ways);
    json["load_s"] = matrix_json(survey.load);
    json["host"] = std::move(hosts);
    return json;
}

LinkSurvey link_survey_of(const Json& json) {
    LinkSurvey survey;
    survey.gpus = texts_of(&member_of(json, "gpus"));
    const std::size_t gpus = survey.gpus.size();
    survey.one_way = matrix_of<Bandwidth>(json, "one_way_bytes_per_s", gpus);
    survey.both_ways = matrix_of<Bandwidth>(json, "both_ways_bytes_per_s", gpus);
    survey.load = matrix_of<Time>(json, "load_s", gpus);
    for (const Json& link : member_of(json, "host").items()) {
        survey.host.push_back(
            {.to_device = rate_of(link, "to_device_bytes_per_s"),
             .to_host = rate_of(link, "to_host_bytes_per_s"),
             .both_ways = rate_of(link, "both_ways_bytes_per_s"),
             .together_to_device = rate_of(link, "together_to_device_bytes_per_s"),
             .together_to_host = rate_of(link, "together_to_host_bytes_per_s"),
             .pageable_to_device = rate_of(link, "pageable_to_device_bytes_per_s"),
             .pageable_to_host = rate_of(link, "pageable_to_host_bytes_per_s")});
    }
    survey.serials = texts_of(json.find("serials"));
    const Json* const host = json.find("host_name");
    if (host != nullptr && host->if_text() != nullptr) survey.host_name = *host->if_text();
    return survey;
}

std::vector<LinkSurvey> surveys_in(const std::vector<std::string>& paths) {
    std::vector<fs::path> files;
    for (const std::string& path : paths) {
        std::error_code error;
        if (!fs::is_directory(path, error)) {
            if (fs::path(path).extension() == ".json") files.emplace_back(path);
            continue;
        }
        std::vector<fs::path> found;
        for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
            if (entry.path().extension() == ".json") found.push_back(entry.path());
        }
        std::sort(found.begin(), found.end());
        std::move(found.begin(), found.end(), std::back_inserter(files));
    }
    std::vector<LinkSurvey> surveys;
    for (const fs::path& file : files) {
        if (std::optional<LinkSurvey> survey = survey_in(file)) {
            surveys.push_back(*std::move(survey));
        }
    }
    return surveys;
}

}  // namespace ridge::measure
