// The readable name of a kernel as a text of the activity file: "void copy<float>(float*)".
#pragma once

#include <cstdint>
#include <string>

#include "programs/recording/activity_writer.h"

namespace ridge::measure::cuda {

[[nodiscard]] std::string readable_name(const std::string& mangled);

/// Each mangled name is demangled once. Safe from any thread.
[[nodiscard]] std::uint32_t kernel_name(programs::ActivityWriter& writer, const char* mangled);

}  // namespace ridge::measure::cuda
