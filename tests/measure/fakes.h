// A fake H200, example records and temporary folders for the tests of measuring.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "measure/run/measure.h"
#include "measure/run/suite.h"
#include "model/machine/catalogue.h"
#include "tests/support/fake_device.h"

namespace ridge::test {

inline const hardware::Catalogue& catalogue() {
    static const hardware::Catalogue embedded = model::catalogue();
    return embedded;
}

inline measure::FakePlan h200_plan() {
    return measure::fake_plan(catalogue().at("h200-sxm"));
}

inline measure::Question question(const std::string& text) {
    return measure::parse_question(text);
}

/// A new temporary folder, removed when the object is destroyed.
class Folder {
  public:
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "ridge-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] std::string file(const std::string& name) const {
        return (std::filesystem::path(path_) / name).string();
    }
    [[nodiscard]] std::string path() const { return path_; }

  private:
    std::string path_;
};

inline std::string text_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_text(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

/// A record of a run on the fake.
inline measure::Record example_record(
    const std::string& text = "matmul m=1024 n=1024 k=1024 dtype=bf16") {
    measure::FakeDevice device(h200_plan());
    return *measure::measure_one(device, question(text), {});
}

}  // namespace ridge::test
