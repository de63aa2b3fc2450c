#include "programs/traces/csv_lines.h"

#include "hardware/byte_source.h"

namespace ridge::programs {

bool CsvLines::next(std::string& line) {
    constexpr std::size_t longest_line = std::size_t{4} << 20U;  // some thousand columns
    line.clear();
    bool quoted = false;
    while (true) {
        for (; at_ < buffer_.size(); ++at_) {
            const char letter = buffer_[at_];
            if (letter == '"') quoted = !quoted;
            if (letter == '\n' && !quoted) {
                ++at_;
                if (!line.empty() && line.back() == '\r') line.pop_back();
                whole_ = true;
                return true;
            }
            line += letter;
            if (line.size() > longest_line) {
                damage_ = "a line of more than 4 MiB";
                return false;
            }
        }
        if (!fill()) {
            whole_ = !quoted;
            return !line.empty();
        }
    }
}

std::string CsvLines::damage() const {
    return damage_.empty() ? source_.failure() : damage_;
}

bool CsvLines::fill() {
    constexpr std::size_t piece = std::size_t{1} << 15U;
    before_ += buffer_.size();
    buffer_.resize(piece);
    buffer_.resize(source_.read(buffer_.data(), piece));
    at_ = 0;
    return !buffer_.empty();
}

std::vector<std::string> csv_fields(std::string_view line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char letter = line[i];
        if (letter == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
            fields.back() += line[++i];  // two quotes mean one
        } else if (letter == '"') {
            quoted = !quoted;
        } else if (letter == ',' && !quoted) {
            fields.emplace_back();
        } else {
            fields.back() += letter;
        }
    }
    return fields;
}

}  // namespace ridge::programs
