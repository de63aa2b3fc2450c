// Files of JAX's profiler in Protocol Buffers: the same as its JSON of the same run, and the effects of damage.
#include "programs/traces/xplane.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hardware/byte_source.h"
#include "hardware/error.h"
#include "programs/traces/timeline.h"
#include "programs/traces/trace.h"
#include "tests/catch.h"
#include "tests/programs/operator_name.h"
#include "tests/support/temporary_folder.h"

using namespace ridge;
using namespace ridge::programs;
using ridge::test::TemporaryFile;

namespace {

std::string file_of(const char* name) {
    return std::string(RIDGE_TRACES "/") + name;
}

std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80U; value >>= 7U) bytes += static_cast<char>((value & 0x7FU) | 0x80U);
    return bytes + static_cast<char>(value);
}
std::string number(std::uint32_t field, std::uint64_t value) {
    return varint(std::uint64_t{field} << 3U) + varint(value);
}
std::string message(std::uint32_t field, const std::string& bytes) {
    return varint((std::uint64_t{field} << 3U) | 2U) + varint(bytes.size()) + bytes;
}
std::string named(std::uint32_t field, std::uint64_t id, const std::string& name) {
    return message(field, number(1, id) + message(2, number(1, id) + message(2, name)));
}

/// A plane of GPU 1 with one stream: a kernel of 2.5 us, 7 us after the line's start, and a copy.
std::string plane(const std::string& more_of_kernel = "") {
    const std::string kernel = number(1, 1) + number(2, 7'000'000) + number(3, 2'500'000) +
                               message(4, number(1, 1) + number(7, 3)) + more_of_kernel;
    const std::string copy =
        number(1, 2) + number(2, 20'000'000) + number(3, 1'000'000) +
        message(4, number(1, 2) + message(5, "kind_src:pinned size:4096 dest:0"));
    const std::string line = number(1, 14) + message(2, "Stream #14") + number(3, 1000) +
                             message(4, kernel) + message(4, copy);
    return message(2, "/device:GPU:1") + message(3, line) + named(4, 1, "loop_add_fusion") +
           named(4, 2, "MemcpyH2D") + named(5, 1, "hlo_module") + named(5, 2, "memcpy_details") +
           named(5, 3, "jit_step");
}

std::string trace_of(const std::string& bytes) {
    const TemporaryFile file(bytes);
    const Trace trace = read_trace(file.path());
    return trace.read.damage;
}

std::string error_of(const std::string& bytes) {
    try {
        return "read: " + trace_of(bytes);
    } catch (const InputError& error) {
        return error.what();
    }
}

}  // namespace

TEST_CASE("both files of JAX's profiler give the same kernels", "[trace]") {
    const Trace json = read_trace(file_of("trace_jax.json.gz"));
    const Trace xplane = read_trace(file_of("trace_jax.xplane.pb.gz"));
    CHECK(json.recorder == TraceSource::xla);
    CHECK(xplane.recorder == TraceSource::xla);
    CHECK(json.read.damage.empty());
    CHECK(xplane.read.damage.empty());
    CHECK(xplane.device_name() == "NVIDIA H200");  // which the JSON does not name
    CHECK(xplane.capability() == 90);
    REQUIRE(json.kernels.size() == 301);
    REQUIRE(xplane.kernels.size() == json.kernels.size());
    for (std::size_t i = 0; i < json.kernels.size(); ++i) {
        const Kernel& a = json.kernels[i];
        const Kernel& b = xplane.kernels[i];
        INFO(i);
        CHECK(json.text(a.name) == xplane.text(b.name));
        CHECK(ridge::test::operator_name(json, a.op) == ridge::test::operator_name(xplane, b.op));
        CHECK(std::tie(a.kind, a.start_ns, a.duration_ns, a.device, a.stream, a.bytes, a.grid,
                       a.block, a.registers, a.shared_bytes) ==
              std::tie(b.kind, b.start_ns, b.duration_ns, b.device, b.stream, b.bytes, b.grid,
                       b.block, b.registers, b.shared_bytes));
        REQUIRE((a.launch == none) == (b.launch == none));
        if (a.launch == none) continue;
        const Launch& from = json.launches[static_cast<std::size_t>(a.launch)];
        const Launch& to = xplane.launches[static_cast<std::size_t>(b.launch)];
        CHECK(json.text(from.name) == xplane.text(to.name));
        CHECK(from.start_ns == to.start_ns);
        CHECK(from.end_ns == to.end_ns);
    }
    CHECK(timeline_of(json).host_late_ns == timeline_of(xplane).host_late_ns);
    CHECK(timeline_of(json).host_late_ns > 0);
}

TEST_CASE("a plane of a GPU gives kernels, the program that they belong to, and copies",
          "[trace]") {
    const TemporaryFile file(message(1, plane()));
    const Trace trace = read_trace(file.path());
    CHECK(trace.read.damage.empty());
    REQUIRE(trace.kernels.size() == 2);
    const Kernel& kernel = trace.kernels.front();
    CHECK(kernel.start_ns == 8000);
    CHECK(kernel.duration_ns == 2500);
    CHECK(kernel.device == 1);
    CHECK(kernel.stream == 14);
    CHECK(ridge::test::operator_name(trace, kernel.op) == "jit_step/loop_add_fusion");
    CHECK(trace.kernels.back().kind == ActivityKind::copy);
    CHECK(trace.kernels.back().bytes == 4096);
    CHECK(trace.device_name().empty());
}

TEST_CASE("a damaged plane is named by its field, and what came before it is kept", "[trace]") {
    const std::string whole = message(1, plane());
    // A second plane that is cut within.
    std::string cut = whole + whole;
    cut.resize(cut.size() - 3);
    const TemporaryFile file(cut);
    const Trace trace = read_trace(file.path());
    CHECK(trace.kernels.size() == 2);
    CHECK(trace.read.damage.find("planes[1]") == 0);
    // A length beyond the end of the event.
    const std::string beyond = message(1, plane(varint((4U << 3U) | 2U) + varint(1000)));
    CHECK(error_of(beyond).find("planes[0].lines[0].events[0]") != std::string::npos);
    // Fields of other encodings than the schema's are no fields of it.
    CHECK(error_of(message(1, plane(message(3, "x") + number(4, 9)))) == "read: ");
    // No GPU.
    CHECK(error_of(message(1, message(2, "/host:CPU"))).find("/device:GPU:0") != std::string::npos);
}

TEST_CASE("a file of JAX's profiler that is cut anywhere is read as far as it goes, or refused",
          "[trace]") {
    std::string bytes;
    ByteSource source(file_of("trace_jax.xplane.pb.gz"));
    std::string part(1U << 16U, '\0');
    while (const std::size_t got = source.read(part.data(), part.size()))
        bytes.append(part, 0, got);
    std::size_t read = 0;
    for (std::size_t size = 20; size < bytes.size(); size += 997) {
        const std::string found = error_of(bytes.substr(0, size));
        INFO(size << ": " << found);
        CHECK(found.find("planes[") != std::string::npos);
        read += found.starts_with("read: ") ? 1U : 0U;
    }
    CHECK(read > 3);  // the plane of the GPU was whole
}
