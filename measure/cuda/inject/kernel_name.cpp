#include "measure/cuda/inject/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace ridge::measure::cuda {

std::string readable_name(const std::string& mangled) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 && text != nullptr ? std::string(text.get()) : mangled;
}

std::uint32_t kernel_name(programs::ActivityWriter& writer, const char* mangled) {
    static auto& mutex = *new std::mutex;
    static auto& known = *new std::unordered_map<std::string, std::uint32_t>;
    if (mangled == nullptr) return 0;
    const std::string name = mangled;
    const std::lock_guard lock(mutex);
    const auto [place, added] = known.try_emplace(name, 0U);
    if (added) place->second = writer.text(readable_name(name));
    return place->second;
}

}  // namespace ridge::measure::cuda
