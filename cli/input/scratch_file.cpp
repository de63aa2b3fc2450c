#include "cli/input/scratch_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "hardware/error.h"

namespace ridge::cli {

ScratchFile::ScratchFile()
    : path_((std::filesystem::temp_directory_path() / "ridge-XXXXXX").string()) {
    const int descriptor = mkstemp(path_.data());
    if (descriptor < 0) throw InputError("no temporary file can be made");
    ::close(descriptor);
}

ScratchFile::~ScratchFile() {
    std::error_code error;
    std::filesystem::remove(path_, error);
}

}  // namespace ridge::cli
