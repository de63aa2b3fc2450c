// Creates an output folder before the work whose results it will hold.
//
//   make_folder(records);   // before minutes of measuring
#pragma once

#include <filesystem>

namespace ridge {

/// Creates the folder and its missing parents. InputError with the system's reason.
void make_folder(const std::filesystem::path& folder);

}  // namespace ridge
