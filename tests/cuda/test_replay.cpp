// Launches that are repeated within a program, on a driver whose device is the host: memory is
// restored, launches are repeated unchanged, and what cannot be repeated is refused.
#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "measure/cuda/inject/launch_replay.h"
#include "tests/catch.h"
#include "tests/cuda/fake_driver.h"

using namespace ridge::measure::cuda;

namespace {

FakeDriver& driver() {
    static FakeDriver* const found = [] {
        void* const library = dlopen(RIDGE_FAKE_DRIVER, RTLD_NOW | RTLD_GLOBAL);
        REQUIRE(library != nullptr);
        return reinterpret_cast<FakeDriver* (*)()>(dlsym(library, "fake_driver"))();
    }();
    return *found;
}

CUdeviceptr address_of(const void* memory) {
    return reinterpret_cast<CUdeviceptr>(memory);
}

/// data[0] = data[0] * factor + 1, which differs when done twice.
void scale(void** arguments) {
    int* const data = *static_cast<int**>(arguments[0]);
    data[0] = data[0] * *static_cast<int*>(arguments[1]) + 1;
}

void scale_packed(void** extra) {
    struct Arguments {
        int* data;
        int factor;
    } arguments{};
    std::memcpy(&arguments, extra[1], sizeof arguments);
    arguments.data[0] = arguments.data[0] * arguments.factor + 1;
}

const FakeKernel plain{.run = scale, .arguments = {{0, 8}, {8, 4}}};
const FakeKernel by_handle{.run = scale, .arguments = {{0, 8}, {8, 4}}, .is_kernel_handle = true};
const FakeKernel packed{.run = scale_packed, .arguments = {{0, 8}, {8, 4}}};

CUfunction handle_of(const FakeKernel& kernel) {
    return reinterpret_cast<CUfunction>(const_cast<FakeKernel*>(&kernel));
}

cuLaunchKernel_params call_of(const FakeKernel& kernel, unsigned grid, void** arguments) {
    cuLaunchKernel_params call{};
    call.f = handle_of(kernel);
    call.gridDimX = grid;
    call.gridDimY = call.gridDimZ = call.blockDimX = call.blockDimY = call.blockDimZ = 1;
    call.kernelParams = arguments;
    return call;
}

/// A launch by the program: it is recorded, then executed.
void launch(LaunchReplay& replay, const FakeKernel& kernel, unsigned grid, int* data, int factor) {
    std::array<void*, 2> arguments{&data, &factor};
    const cuLaunchKernel_params call = call_of(kernel, grid, arguments.data());
    replay.record(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &call);
    kernel.run(arguments.data());
}

struct Binary {
    std::vector<std::string> sections{};
    std::vector<std::string> symbols{};
    std::uint64_t size = 4;  ///< of each section, in bytes
};

/// An ELF file with sections of these names and a table of these symbols.
std::vector<char> elf_of(const Binary& binary) {
    std::string texts(1, '\0');
    const auto text = [&texts](const std::string& name) {
        const auto at = static_cast<Elf64_Word>(texts.size());
        texts += name + '\0';
        return at;
    };
    std::vector<Elf64_Sym> symbols(1);
    for (const std::string& name : binary.symbols) {
        symbols.push_back({});
        symbols.back().st_name = text(name);
    }
    std::vector<Elf64_Shdr> sections(3);
    for (const std::string& name : binary.sections) {
        sections.push_back({});
        sections.back().sh_name = text(name);
        sections.back().sh_type = SHT_NOBITS;
        sections.back().sh_size = binary.size;
    }
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shoff = sizeof header;
    header.e_shnum = static_cast<Elf64_Half>(sections.size());
    header.e_shstrndx = 1;
    const std::size_t behind = sizeof header + sections.size() * sizeof(Elf64_Shdr);
    sections[1].sh_type = SHT_STRTAB;
    sections[1].sh_offset = behind;
    sections[1].sh_size = texts.size();
    sections[2].sh_type = SHT_SYMTAB;
    sections[2].sh_link = 1;
    sections[2].sh_offset = behind + texts.size();
    sections[2].sh_size = symbols.size() * sizeof(Elf64_Sym);
    std::vector<char> file(behind + texts.size() + sections[2].sh_size);
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(file.data() + sizeof header, sections.data(), sections.size() * sizeof(Elf64_Shdr));
    std::memcpy(file.data() + behind, texts.data(), texts.size());
    std::memcpy(file.data() + behind + texts.size(), symbols.data(), sections[2].sh_size);
    return file;
}

}  // namespace

TEST_CASE("Repeated launches see the memory and the arguments of the first time") {
    driver() = {};
    LaunchReplay replay;
    REQUIRE(replay.is_possible());
    std::array<int, 100> memory{};
    memory[0] = 3;
    replay.allocated(nullptr, address_of(memory.data()), sizeof memory);
    REQUIRE(replay.open(nullptr));
    memory[99] = 0;
    launch(replay, plain, 7, memory.data(), 2);      // 7
    launch(replay, by_handle, 8, memory.data(), 5);  // 36
    CHECK(memory[0] == 36);
    REQUIRE(replay.can_repeat());
    for (int round = 0; round < 3; ++round) {
        memory[99] = 5;
        REQUIRE(replay.restore());
        CHECK(memory[0] == 3);
        CHECK(memory[99] == 0);
        REQUIRE(replay.launch());
        CHECK(memory[0] == 36);
    }
    CHECK(driver().grids == std::vector<unsigned>{7, 8, 7, 8, 7, 8});
    CHECK(driver().allocations == 1);
    replay.close();
    CHECK(driver().allocations == 0);
    CHECK_FALSE(replay.can_repeat());
}

TEST_CASE("Arguments in a buffer, attributes and the thread's own stream are repeated") {
    driver() = {};
    LaunchReplay replay;
    int value = 3;
    replay.allocated(nullptr, address_of(&value), sizeof value);
    REQUIRE(replay.open(nullptr));
    struct {
        int* data;
        int factor;
    } buffer{&value, 4};
    std::size_t size = sizeof buffer;
    std::array<void*, 5> extra{CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
                               &size, CU_LAUNCH_PARAM_END};
    std::array<CUlaunchAttribute, 1> attributes{};
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    CUlaunchConfig config{};
    config.gridDimX = 9;
    config.attrs = attributes.data();
    config.numAttrs = 1;
    cuLaunchKernelEx_params call{};
    call.config = &config;
    call.f = handle_of(packed);
    call.extra = extra.data();
    replay.record(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, &call);
    buffer.factor = 100;  // the program may change its own buffer
    REQUIRE(replay.can_repeat());
    REQUIRE(replay.restore());
    REQUIRE(replay.launch());
    CHECK(value == 13);
    CHECK(driver().attributes == 1);
    CHECK(driver().streams == std::vector<CUstream>{CU_STREAM_PER_THREAD});

    attributes[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
    replay.record(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &call);
    CHECK_FALSE(replay.can_repeat());
    replay.close();
    CHECK(replay.is_possible());  // only that batch was refused
}

TEST_CASE("Freed memory is not restored") {
    driver() = {};
    LaunchReplay replay;
    std::array<int, 2> kept{1, 1};
    std::array<int, 2> gone{1, 1};
    replay.allocated(nullptr, address_of(kept.data()), sizeof kept);
    replay.allocated(nullptr, address_of(gone.data()), sizeof gone);
    replay.freed(nullptr, address_of(gone.data()));
    REQUIRE(replay.open(nullptr));
    kept[1] = gone[1] = 2;
    REQUIRE(replay.restore());
    CHECK(kept[1] == 1);
    CHECK(gone[1] == 2);
    replay.close();
}

TEST_CASE("What cannot be repeated is refused, with a reason") {
    driver() = {};
    int value = 0;
    SECTION("no room for the copy") {
        driver().free_bytes = 1000;
        LaunchReplay replay;
        replay.allocated(nullptr, address_of(&value), sizeof value);
        CHECK_FALSE(replay.open(nullptr));
        CHECK_THAT(replay.refusal(), contains_text("copy of the program's"));
    }
    SECTION("no memory left") {
        driver().refuses_memory = true;
        LaunchReplay replay;
        replay.allocated(nullptr, address_of(&value), sizeof value);
        CHECK_FALSE(replay.open(nullptr));
        CHECK_FALSE(replay.is_possible());
    }
    SECTION("a launch fails") {
        LaunchReplay replay;
        REQUIRE(replay.open(nullptr));
        launch(replay, plain, 1, &value, 1);
        driver().refuses_launches = true;
        CHECK_FALSE(replay.launch());
        CHECK_FALSE(replay.can_repeat());
    }
    SECTION("a module keeps state") {
        LaunchReplay replay;
        replay.loaded(elf_of({.sections = {".text.scale"}}));
        CHECK(replay.is_possible());
        replay.loaded(elf_of({.sections = {".nv.global"}}));
        CHECK_FALSE(replay.is_possible());
        CHECK_FALSE(replay.open(nullptr));
    }
    SECTION("batches of single launches") {
        LaunchReplay replay;
        for (int batch = 0; batch < 4; ++batch) {
            REQUIRE(replay.open(nullptr));
            launch(replay, plain, 1, &value, 1);
            replay.close();
        }
        CHECK_FALSE(replay.open(nullptr));
        CHECK_THAT(replay.refusal(), contains_text("few launches"));
    }
}

TEST_CASE(
    "Binaries with variables, output or a heap keep state, and so do files that are not binaries") {
    CHECK_FALSE(
        keeps_state(elf_of({.sections = {".text.a", ".nv.constant3"}, .symbols = {"_Z1a"}})));
    CHECK_FALSE(keeps_state(elf_of({.sections = {".nv.global"}, .size = 0})));
    CHECK(keeps_state(elf_of({.sections = {".text.a", ".nv.global.init"}})));
    for (const char* const symbol : {"vprintf", "malloc", "free", "cudaGetParameterBufferV2"}) {
        CHECK(keeps_state(elf_of({.symbols = {"_Z1a", symbol}})));
    }
    const std::vector<char> whole = elf_of({.sections = {".text.a"}, .symbols = {"_Z1a"}});
    CHECK(keeps_state({}));
    for (std::size_t size = 0; size < whole.size() - sizeof(Elf64_Sym); ++size) {
        CHECK(keeps_state(std::span(whole).first(size)));
    }
    std::vector<char> other = whole;
    other[1] = 'F';
    CHECK(keeps_state(other));
    // What lies outside of the file is unknown, so the binary may keep state.
    const auto damaged = [&whole](std::size_t at, std::size_t size) {
        std::vector<char> broken = whole;
        std::fill_n(broken.begin() + static_cast<std::ptrdiff_t>(at), size, char(0xff));
        return keeps_state(broken);
    };
    CHECK(damaged(offsetof(Elf64_Ehdr, e_shoff), sizeof(Elf64_Off)));
    CHECK(damaged(offsetof(Elf64_Ehdr, e_shnum), sizeof(Elf64_Half)));
    CHECK(damaged(offsetof(Elf64_Ehdr, e_shstrndx), sizeof(Elf64_Half)));
    const auto section = [](std::size_t number, std::size_t field) {
        return sizeof(Elf64_Ehdr) + number * sizeof(Elf64_Shdr) + field;
    };
    constexpr std::size_t texts = 1, symbols = 2, code = 3;
    CHECK(damaged(section(texts, offsetof(Elf64_Shdr, sh_offset)), sizeof(Elf64_Off)));
    CHECK(damaged(section(symbols, offsetof(Elf64_Shdr, sh_offset)), sizeof(Elf64_Off)));
    CHECK(damaged(section(symbols, offsetof(Elf64_Shdr, sh_size)), sizeof(Elf64_Xword)));
    CHECK(damaged(section(symbols, offsetof(Elf64_Shdr, sh_link)), sizeof(Elf64_Word)));
    CHECK(damaged(section(code, offsetof(Elf64_Shdr, sh_name)), sizeof(Elf64_Word)));
    CHECK(damaged(whole.size() - sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_name),
                  sizeof(Elf64_Word)));
    // No damaged byte crashes the reader, whichever answer it leads to.
    for (std::size_t at = 0; at < whole.size(); ++at) static_cast<void>(damaged(at, 1));
}

TEST_CASE("Driver calls are classified by what they do to memory") {
    CHECK(call_kind("cuMemAlloc_v2") == CallKind::allocates);
    CHECK(call_kind("cuMemFree_v2") == CallKind::frees);
    CHECK(call_kind("cuMemAllocManaged") == CallKind::untracked);
    CHECK(call_kind("cuMemAllocAsync_ptsz") == CallKind::untracked);
    CHECK(call_kind("cuMemAllocHost_v2") == CallKind::untracked);
    CHECK(call_kind("cuMemHostRegister_v2") == CallKind::untracked);
    CHECK(call_kind("cuMemMap") == CallKind::untracked);
    CHECK(call_kind("cuArray3DCreate_v2") == CallKind::untracked);
    CHECK(call_kind("cuMemcpyHtoDAsync_v2") == CallKind::ends_batch);
    CHECK(call_kind("cuMemcpyDtoH_v2") ==
          CallKind::ends_batch);  // another thread may read in the meantime
    CHECK(call_kind("cuMemsetD8_v2") == CallKind::ends_batch);
    CHECK(call_kind("cuGraphLaunch") == CallKind::ends_batch);
    CHECK(call_kind("cuStreamWaitValue32_v2") == CallKind::ends_batch);
    CHECK(call_kind("cuStreamWriteValue32_v2") == CallKind::ends_batch);
    CHECK(call_kind("cuDevicePrimaryCtxRelease_v2") == CallKind::ends_batch);
    for (const char* const wait :
         {"cuCtxSynchronize", "cuStreamSynchronize_ptsz", "cuEventSynchronize"}) {
        CHECK(call_kind(wait) == CallKind::ends_batch);
    }
    CHECK(call_kind("cuOfTomorrow") == CallKind::ends_batch);
    CHECK(call_kind("cuEventRecord") == CallKind::harmless);
    CHECK(call_kind("cuKernelGetFunction") == CallKind::harmless);
}

TEST_CASE("A handle that another kernel has taken over gets that kernel's arguments") {
    driver() = {};
    LaunchReplay replay;
    std::array<int, 100> memory{};
    memory[0] = 3;
    replay.allocated(nullptr, address_of(memory.data()), sizeof memory);
    static FakeKernel kernel{.run = [](void** arguments) { ++**static_cast<int**>(arguments[0]); },
                             .arguments = {{0, 8}}};
    int* data = memory.data();
    std::array<void*, 1> one{static_cast<void*>(&data)};
    REQUIRE(replay.open(nullptr));
    const cuLaunchKernel_params call = call_of(kernel, 1, one.data());
    replay.record(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &call);
    CHECK(replay.can_repeat());
    replay.close();
    // The code is unloaded, which ends the batch; the next module's kernel has the same handle.
    kernel = plain;
    REQUIRE(replay.open(nullptr));
    launch(replay, kernel, 7, memory.data(), 2);
    const int after = memory[0];
    REQUIRE(replay.restore());
    REQUIRE(replay.launch());
    CHECK(memory[0] == after);
}

TEST_CASE("The memory that a launch can reach is that of its arguments") {
    driver() = {};
    KernelArguments arguments;
    CHECK(arguments.of(handle_of(plain)).size() == 2);
    CHECK(arguments.of(handle_of(by_handle)).size() == 2);
    CHECK(arguments.of(handle_of(plain))[1].offset == 8);
    // This driver does not say to which allocation an address belongs.
    CHECK(arguments.reachable_bytes(handle_of(plain), nullptr, nullptr) < 0.0);
}
