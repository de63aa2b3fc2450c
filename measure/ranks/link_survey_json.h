// Surveys of links as JSON: what `ridge links --format json` writes, read again.
//
//   const Json json = json_of(survey);
//   const std::vector<LinkSurvey> found = surveys_in({"fleet/"});    // its *.json files that are surveys
//
// Names end with the base unit. Files of other kinds are passed over; a survey whose tables do not
// have a row and a column for each GPU is an InputError that names the file.
#pragma once

#include <string>
#include <vector>

#include "hardware/json.h"
#include "measure/ranks/link_survey.h"

namespace ridge::measure {

inline constexpr const char* link_survey_schema = "ridge/links/1";

/// Without the member "schema".
[[nodiscard]] Json json_of(const LinkSurvey& survey);

/// The inverse. InputError says what is wrong.
[[nodiscard]] LinkSurvey link_survey_of(const Json& json);

/// The surveys among the files named, and among the *.json files of the folders named, sorted.
[[nodiscard]] std::vector<LinkSurvey> surveys_in(const std::vector<std::string>& paths);

}  // namespace ridge::measure
