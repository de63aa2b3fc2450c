#include "kernel/code/cubin.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "hardware/error.h"

namespace ridge::kernel {
namespace {

constexpr std::string_view text_start = ".text.";
constexpr std::string_view info_start = ".nv.info.";
constexpr std::string_view shared_start = ".nv.shared.";

struct Section {
    std::string_view name;
    std::string_view bytes;
    std::uint64_t size = 0;  ///< also of a section without bytes in the file
    std::uint32_t symbol = 0;
};

class CubinReader {
  public:
    CubinReader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

    std::vector<CubinKernel> read() {
        const std::vector<Section> sections = read_sections();
        for (const Section& section : sections) {
            if (section.name == ".nv.info") read_file_attributes(section.bytes);
        }
        std::vector<CubinKernel> kernels;
        for (const Section& section : sections) {
            if (!section.name.starts_with(text_start)) continue;
            CubinKernel kernel{.name = std::string(section.name.substr(text_start.size()))};
            const auto registers = registers_.find(section.symbol);
            if (registers != registers_.end()) kernel.registers = registers->second;
            for (const Section& other : sections) {
                if (other.name == std::string(info_start) + kernel.name) {
                    read_attributes(other.bytes, kernel);
                }
                if (other.name == std::string(shared_start) + kernel.name) {
                    kernel.shared_bytes = static_cast<std::int64_t>(other.size);
                }
            }
            kernels.push_back(std::move(kernel));
        }
        return kernels;
    }

  private:
    template <class Value>
    [[nodiscard]] Value at(std::string_view bytes, std::size_t place) const {
        Value value{};
        if (place > bytes.size() || bytes.size() - place < sizeof value) {
            throw InputError("the CUDA binary is cut off or damaged", {.file = file_});
        }
        std::memcpy(&value, bytes.data() + place, sizeof value);
        return value;
    }

    [[nodiscard]] std::string_view part(std::uint64_t offset, std::uint64_t size) const {
        if (offset > bytes_.size() || bytes_.size() - offset < size) {
            throw InputError("the CUDA binary is cut off or damaged", {.file = file_});
        }
        return bytes_.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
    }

    // Offsets of the fields of an ELF header and of a section header (ELF-64 object file format).
    std::vector<Section> read_sections() {
        constexpr std::size_t head = 64;
        constexpr std::uint32_t no_bytes = 8;
        const auto table = at<std::uint64_t>(bytes_, 40);
        const auto count = at<std::uint16_t>(bytes_, 60);
        const auto names = at<std::uint16_t>(bytes_, 62);
        const std::string_view heads = part(table, count * head);
        if (names >= count) throw InputError("the CUDA binary has no names", {.file = file_});
        const std::string_view text = part(at<std::uint64_t>(heads, names * head + 24),
                                           at<std::uint64_t>(heads, names * head + 32));
        std::vector<Section> sections;
        for (std::size_t i = 0; i < count; ++i) {
            const std::string_view each = heads.substr(i * head, head);
            const auto name = at<std::uint32_t>(each, 0);
            if (name >= text.size()) continue;
            Section made{.name = text.substr(name, text.find('\0', name) - name),
                         .bytes = {},
                         .size = at<std::uint64_t>(each, 32)};
            constexpr std::uint32_t symbols = 0x00ffffff;
            made.symbol = at<std::uint32_t>(each, 44) & symbols;
            if (at<std::uint32_t>(each, 4) != no_bytes) {
                made.bytes = part(at<std::uint64_t>(each, 24), made.size);
            }
            sections.push_back(made);
        }
        return sections;
    }

    /// Calls `take` with the number and the bytes of each attribute that has bytes.
    template <class Take>
    void each_attribute(std::string_view bytes, Take take) const {
        constexpr std::uint8_t with_bytes = 4;
        constexpr std::size_t head = 4;
        while (bytes.size() >= head) {
            const auto format = static_cast<std::uint8_t>(bytes[0]);
            const auto number = static_cast<std::uint8_t>(bytes[1]);
            const std::size_t size = format == with_bytes ? at<std::uint16_t>(bytes, 2) : 0;
            if (bytes.size() - head < size) return;
            if (size > 0) take(number, bytes.substr(head, size));
            bytes.remove_prefix(head + size);
        }
    }

    void read_file_attributes(std::string_view bytes) {
        constexpr std::uint8_t register_count = 0x2f;
        each_attribute(bytes, [&](std::uint8_t number, std::string_view value) {
            if (number != register_count || value.size() < 8) return;
            registers_[at<std::uint32_t>(value, 0)] = at<std::uint32_t>(value, 4);
        });
    }

    void read_attributes(std::string_view bytes, CubinKernel& kernel) const {
        constexpr std::uint8_t parameter_bank = 0x0a;
        constexpr std::uint8_t parameter = 0x17;
        constexpr std::uint8_t required_threads = 0x10;
        std::uint32_t base = 0;
        std::map<std::uint32_t, CubinParameter> parameters;
        each_attribute(bytes, [&](std::uint8_t number, std::string_view value) {
            if (number == parameter_bank && value.size() >= 8) base = at<std::uint16_t>(value, 4);
            if (number == parameter && value.size() >= 12) {
                constexpr unsigned size_shift = 18;
                parameters[at<std::uint16_t>(value, 4)] = {
                    .offset = at<std::uint16_t>(value, 6),
                    .size = at<std::uint32_t>(value, 8) >> size_shift};
            }
            if (number == required_threads && value.size() >= 12) {
                kernel.threads = std::int64_t{at<std::uint32_t>(value, 0)} *
                                 at<std::uint32_t>(value, 4) * at<std::uint32_t>(value, 8);
            }
        });
        for (auto& [place, each] : parameters) {
            kernel.parameters.push_back({.offset = base + each.offset, .size = each.size});
        }
    }

    std::string_view bytes_;
    const std::string& file_;
    std::map<std::uint32_t, std::int64_t> registers_;  ///< by symbol
};

}  // namespace

bool is_cubin(std::string_view bytes) {
    // The machine of an ELF file: 190 is CUDA.
    constexpr std::size_t place = 18;
    constexpr unsigned cuda = 190;
    return bytes.starts_with("\177ELF") && bytes.size() > place + 1 &&
           static_cast<unsigned char>(bytes[place]) == cuda && bytes[place + 1] == 0;
}

std::vector<CubinKernel> read_cubin(std::string_view bytes, const std::string& file) {
    return CubinReader(bytes, file).read();
}

}  // namespace ridge::kernel
