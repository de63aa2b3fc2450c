// libFuzzer: any bytes give a model config, a family or an error, never a crash. A config that is read has
// weights.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "hardware/error.h"
#include "programs/configs/config_reader.h"
#include "programs/graph/program_reader.h"
#include "programs/software/rules.h"

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge::programs;
    const std::string text(data, data + size);
    try {
        if (text.find("model_types") != std::string::npos) {
            check_procedures(*read_family(text, "fuzz.toml"));
            return 0;
        }
        if (text.find("[[operation]]") != std::string::npos) {
            if (read_program(text, "fuzz.toml").kernels() < 1) std::abort();
            return 0;
        }
        const Architecture architecture = text.starts_with("{")
                                              ? read_config(text, "fuzz.json")
                                              : read_model_toml(text, "fuzz.toml");
        if (parameters_of(architecture) <= 0) std::abort();
    } catch (const ridge::InputError&) {
        return 0;
    }
    return 0;
}
