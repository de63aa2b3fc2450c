// Activity files for tests, written as the library in a program writes them.
//
//   const TemporaryFolder folder;
//   write_process(folder.file("a"), {.pid = 12});   // a kernel twice, once in a range, and a copy
#pragma once

#include <cstdint>
#include <string>

#include "programs/recording/activity_writer.h"
#include "tests/catch.h"

namespace ridge::test {

inline constexpr std::uint64_t second = 1'000'000'000;

/// A process that launches one kernel twice, once within a range, and copies the result back.
struct Process {
    std::uint32_t pid = 10;
    std::int32_t rank = -1;
    std::uint64_t run = 7;
    std::uint64_t uuid = 1;
    std::uint64_t begin = second;
    bool finishes = true;
};

inline void write_process(const std::string& file, const Process& process) {
    programs::ActivityWriter writer;
    REQUIRE(writer.open(file));
    const std::uint64_t t = process.begin;
    writer.write(
        programs::ProcessActivity{.pid = process.pid, .rank = process.rank, .run = process.run});
    const std::uint32_t shape = writer.shape({.name = writer.text("void add<4>(float*)"),
                                              .grid_x = 132,
                                              .grid_y = 2,
                                              .grid_z = 1,
                                              .block_x = 256,
                                              .block_y = 1,
                                              .block_z = 1,
                                              .registers = 32,
                                              .shared_bytes = 1024});
    const std::uint32_t launch = writer.text("cudaLaunchKernel");
    writer.write(programs::PushActivity{.time_ns = t, .name = writer.text("step"), .thread = 3});
    writer.write(programs::CallActivity{
        .start_ns = t + 10, .duration_ns = 5, .name = launch, .correlation = 1, .thread = 3});
    writer.write(programs::KernelActivity{
        .start_ns = t + 100, .duration_ns = 50, .shape = shape, .correlation = 1, .stream = 7});
    writer.write(programs::PopActivity{.time_ns = t + 200, .thread = 3});
    writer.write(programs::CallActivity{
        .start_ns = t + 210, .duration_ns = 5, .name = launch, .correlation = 2, .thread = 3});
    writer.write(programs::KernelActivity{
        .start_ns = t + 300, .duration_ns = 70, .shape = shape, .correlation = 2, .stream = 7});
    writer.copy({.start_ns = t + 400,
                 .duration_ns = 30,
                 .bytes = 4096,
                 .name = writer.text("Memcpy DtoH (Device -> Pinned)"),
                 .correlation = 3});
    // The driver describes its devices late.
    writer.write(programs::DeviceActivity{
        .multiprocessors = 132, .major = 9, .uuid_low = process.uuid, .name = "NVIDIA H200"});
    if (process.finishes) writer.write(programs::FinishActivity{.time_ns = t + second});
    writer.flush();
}

}  // namespace ridge::test
