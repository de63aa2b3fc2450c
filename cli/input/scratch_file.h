// A temporary file that is removed when its owner goes.
//
//   const ScratchFile cubin;        // InputError if none can be made
//   run({"ptxas", "-o", cubin.path()});
#pragma once

#include <string>

namespace ridge::cli {

class ScratchFile {
  public:
    ScratchFile();
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace ridge::cli
