#include "hardware/output_folder.h"

#include <system_error>

#include "hardware/error.h"

namespace ridge {

void make_folder(const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw InputError("cannot be created: " + error.message(), {.file = folder.string()});
}

}  // namespace ridge
