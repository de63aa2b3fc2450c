// The folder that files are to be written into, made before the work whose results they hold.
//
//   make_folder(records);   // before minutes of measuring
#pragma once

#include <filesystem>

namespace ridge {

/// Makes the folder and those above it, where they lack. InputError with the system's reason.
void make_folder(const std::filesystem::path& folder);

}  // namespace ridge
