// Files of JAX's profiler in Protocol Buffers: the same as its JSON of the same run, and the effects of damage.
#include "programs/traces/xplane.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hardware/byte_source.h"
#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "model/machine/machine.h"
#include "programs/aten/call.h"
#include "programs/aten/operations.h"
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

std::string whole_text_of(const std::string& file) {
    std::string bytes;
    ByteSource source(file);
    std::string part(1U << 16U, '\0');
    while (const std::size_t got = source.read(part.data(), part.size()))
        bytes.append(part, 0, got);
    return bytes;
}

/// The shapes of the operator that this kernel belongs to; of several kernels of one name, of the first.
std::string shapes_of(const Trace& trace, std::string_view kernel) {
    for (const Kernel& each : trace.kernels) {
        if (trace.text(each.name) != kernel || each.op == none) continue;
        const Operator& op = trace.operators[static_cast<std::size_t>(each.op)];
        return shape_text(parse_call(trace.text(op.name), trace.text(op.inputs)));
    }
    return "no such kernel";
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
    const std::string bytes = whole_text_of(file_of("trace_jax.xplane.pb.gz"));
    std::size_t read = 0;
    for (std::size_t size = 20; size < bytes.size(); size += 997) {
        const std::string found = error_of(bytes.substr(0, size));
        INFO(size << ": " << found);
        CHECK(found.find("planes[") != std::string::npos);
        read += found.starts_with("read: ") ? 1U : 0U;
    }
    CHECK(read > 3);  // the plane of the GPU was whole
}

TEST_CASE("kernels of JAX have the shapes of their instructions", "[trace]") {
    const Trace trace = read_trace(file_of("trace_jax.xplane.pb.gz"));
    // As the compiled text has them: custom-call.11 is the first product of cuBLAS in the schedule.
    CHECK(shapes_of(trace, "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT") ==
          "[2048,1024] x [1024,4096] bf16");
    // custom-call.3 sums over the first dimension of [2048,16000] and the second of [1024,2048]{0,1}.
    CHECK(shapes_of(trace, "nvjet_sm90_tst_128x128_64x6_1x2_h_bz_NTT") ==
          "[16000,2048] x [2048,1024] bf16");
    // dot.77 in gemm_fusion_dot.62: a batch of 64, and an operand that the fusion transposes.
    CHECK(shapes_of(trace, "gemm_fusion_dot_62") == "[64,512,64] x [64,64,512] fp32");
    CHECK(shapes_of(trace, "loop_convert_tanh_fusion_1") ==
          "[2048,4096] x [4,512,4096] x [4,512,4096]");
    CHECK(shapes_of(trace, "loop_subtract_fusion_6") == "[1024,3072] x [1024,3072] x [1024,3072]");
}

TEST_CASE("kernels of JAX are predicted by their products and by their traffic", "[trace]") {
    const Trace trace = read_trace(file_of("trace_jax.xplane.pb.gz"));
    const model::Machine machine = model::make_machine(model::catalogue().at("h200-sxm"));
    std::size_t library = 0;
    std::size_t fused = 0;
    std::size_t traffic = 0;
    for (const Kernel& kernel : trace.kernels) {
        if (kernel.op == none) continue;
        const Operator& op = trace.operators[static_cast<std::size_t>(kernel.op)];
        const auto understood =
            operations_of(parse_call(trace.text(op.name), trace.text(op.inputs)));
        if (!understood) continue;
        const CallPrediction one = predict(*understood, machine);
        INFO(trace.text(op.name));
        REQUIRE(one.reason.empty());
        const bool product = understood->family == OperatorFamily::product;
        library += product && !understood->foreign ? 1U : 0U;
        fused += product && understood->foreign ? 1U : 0U;
        traffic += product ? 0U : 1U;
        // What XLA made itself is not taken for measured, and its band says so.
        CHECK((one.answer.grade == model::Grade::measured) == !understood->foreign);
        CHECK((one.answer.high > 4.0 * one.answer.time) == understood->foreign);
        CHECK((understood->basis == Basis::bytes) == !product);
    }
    CHECK(library == 26);  // 13 calls in each of two steps
    CHECK(fused == 52);
    CHECK(traffic == 154);
}

TEST_CASE("fp32 is multiplied as tf32 unless the program asks for more", "[trace]") {
    const auto type_of_product = [](const char* what) {
        const std::string inputs =
            R"(["float","float",""]|[[64,32],[32,16],[]]|[[],[],[]]|["","",")";
        const auto found = operations_of(parse_call("jit_f/gemm", inputs + what + R"("])"));
        return std::get<model::Matmul>(found.value().steps.front().operation).type;
    };
    CHECK(type_of_product("hlo product fusion tf32") == model::DataType::tf32);
    CHECK(type_of_product("hlo product fusion") == model::DataType::fp32);
    // Of what reads parts, the shapes say too little.
    CHECK_FALSE(operations_of(parse_call("jit_f/gather",
                                         R"(["float",""]|[[64],[]]|[[],[]]|["","hlo parts"])"))
                    .has_value());
}

TEST_CASE("a damaged program of JAX takes away its own shapes only", "[trace]") {
    const std::string instruction =
        message(2, message(1, "loop_add_fusion") + message(2, "fusion") + number(35, 7));
    const auto with = [](const std::string& module, std::uint64_t key) {
        const std::string stat = message(5, number(1, 9) + message(6, message(1, module)));
        return message(4, number(1, key) + message(2, number(1, key) + stat));
    };
    const auto metadata = [](const std::string& programs) {
        return message(1, message(2, "/host:metadata") + programs + named(5, 9, "Hlo Proto"));
    };
    const std::string cut =
        message(1, "jit_other") + message(3, instruction + varint((2U << 3U) | 2U) + varint(99));
    const TemporaryFile file(message(1, plane()) + metadata(with(cut, 1)));
    const Trace trace = read_trace(file.path());
    CHECK(trace.kernels.size() == 2);
    CHECK(trace.read.damage.find(
              "planes[1].event_metadata[0].hlo_module.computations[0].instructions[") == 0);
    // Each byte of the recorded programs altered: the kernels stay as they are.
    std::string bytes = whole_text_of(file_of("trace_jax.xplane.pb.gz"));
    const std::size_t from = bytes.find("/host:metadata") + 20;
    REQUIRE(from < bytes.size());
    for (std::size_t at = from; at < bytes.size(); at += 9973) {
        for (const char value : {'\x00', '\x7f', '\xff'}) {
            std::string changed = bytes;
            changed[at] = value;
            INFO(at);
            const TemporaryFile altered(changed);
            CHECK(read_trace(altered.path()).kernels.size() == 301);
        }
    }
}

TEST_CASE("a library's kernel has the shapes of a call only if it is clear of which", "[trace]") {
    const std::string bytes = whole_text_of(file_of("../../fuzz/corpus/trace/xplane_hlo"));
    const auto read = [](const std::string& text) {
        const TemporaryFile file(text);
        return read_trace(file.path());
    };
    const std::string shapes = "[8,16] x [16,4] bf16";
    const Trace one = read(bytes);
    CHECK(shapes_of(one, "nvjet_sm90") == shapes);
    CHECK(shapes_of(one, "gemm_fusion_dot_1") == shapes);
    // Two programs of one name: each could have made the call, but the fusions of both are alike.
    const std::size_t header = 5;  // of the plane and of its name
    const Trace two = read(bytes + bytes.substr(bytes.find("/host:metadata") - header));
    CHECK(two.read.damage.empty());
    CHECK(shapes_of(two, "nvjet_sm90").empty());
    CHECK(shapes_of(two, "gemm_fusion_dot_1") == shapes);
    // Two kernels without an instruction, but one call.
    std::string renamed = bytes;
    renamed.replace(renamed.find("gemm_fusion_dot_1"), 17, "gemm_fusion_dot_2");
    const Trace more = read(renamed);
    CHECK(shapes_of(more, "nvjet_sm90").empty());
    CHECK(shapes_of(more, "gemm_fusion_dot_2").empty());
}
