#include "measure/record/csv_reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 18;
constexpr std::size_t longest_row = std::size_t{1} << 20;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view too_long = "the row is longer than 1 MiB";

/// The system's description of the last failure, if it has one.
std::string reason(int code) {
    return code == 0 ? std::string() : ": " + std::generic_category().message(code);
}

}  // namespace

CsvReader::CsvReader(std::istream& stream, std::string file, char separator)
    : stream_(stream), file_(std::move(file)), separator_(separator) {
    if (!fill()) return;
    const std::string_view begin(buffer_);
    if (begin.starts_with(byte_order_mark)) position_ = byte_order_mark.size();
    if (begin.starts_with("\xFF\xFE") || begin.starts_with("\xFE\xFF")) {
        throw InputError("the file is UTF-16", {file_, 1, 1}, "save it as UTF-8");
    }
}

bool CsvReader::fill() {
    if (at_end_) return false;
    buffer_.erase(0, position_);
    position_ = 0;
    const std::size_t kept = buffer_.size();
    buffer_.resize(kept + chunk);
    errno = 0;
    stream_.read(buffer_.data() + kept, static_cast<std::streamsize>(chunk));
    if (stream_.bad()) throw InputError("cannot read further" + reason(errno), {file_, line_, 0});
    const auto count = static_cast<std::size_t>(stream_.gcount());
    buffer_.resize(kept + count);
    at_end_ = count < chunk;
    return count > 0;
}

/// The byte at an offset from the start of the row; reads on if it is not in the buffer yet.
int CsvReader::at(std::size_t offset) {
    while (position_ + offset >= buffer_.size()) {
        if (!fill()) return end_of_input;
    }
    return static_cast<unsigned char>(buffer_[position_ + offset]);
}

/// Bytes before the next line break or the end of the input; more than `longest_row` if neither is
/// within that distance.
std::size_t CsvReader::find_line_end() {
    std::size_t scanned = 0;
    while (true) {
        const std::size_t end = buffer_.find('\n', position_ + scanned);
        if (end != std::string::npos) return end - position_;
        scanned = buffer_.size() - position_;
        if (scanned > longest_row || !fill()) return scanned;
    }
}

/// Drops the rest of a line that is too long to be a row.
void CsvReader::skip_long_line() {
    while (true) {
        const std::size_t end = buffer_.find('\n', position_);
        if (end != std::string::npos) {
            position_ = end + 1;
            ++line_;
            return;
        }
        position_ = buffer_.size();
        if (!fill()) return;
    }
}

bool CsvReader::next() {
    while (true) {
        problem_.clear();
        cells_.clear();
        raw_ = {};
        const std::size_t length = find_line_end();
        if (length == 0 && position_ >= buffer_.size()) return false;
        row_line_ = line_;
        if (length > longest_row) {
            problem_ = too_long;
            skip_long_line();
            return true;
        }
        const std::string_view line(buffer_.data() + position_, length);
        if (line.find('"') != std::string_view::npos) {
            read_quoted(length);
            return true;
        }
        take(length);
        if (raw_.empty()) continue;
        split(raw_);
        return true;
    }
}

/// Makes the next `length` bytes the row, without the CR of a CRLF, and moves past their line
/// break.
void CsvReader::take(std::size_t length) {
    raw_ = std::string_view(buffer_).substr(position_, length);
    line_ += 1 + std::count(raw_.begin(), raw_.end(), '\n');
    position_ = std::min(position_ + length + 1, buffer_.size());
    if (!raw_.empty() && raw_.back() == '\r') raw_.remove_suffix(1);
}

void CsvReader::split(std::string_view row) {
    while (true) {
        const std::size_t comma = row.find(separator_);
        cells_.push_back(row.substr(0, comma));
        if (comma == std::string_view::npos) return;
        row.remove_prefix(comma + 1);
    }
}

void CsvReader::read_quoted(std::size_t line_length) {
    unescaped_count_ = 0;
    std::size_t length = 0;
    problem_ = read_cells(length);
    take(problem_.empty() ? length : line_length);
    if (!problem_.empty()) {
        split(raw_);
        return;
    }
    for (std::size_t i = 0; i < unescaped_count_; ++i) cells_.emplace_back(unescaped_[i]);
}

/// Reads cells up to the end of the row and sets `offset` to it. Returns what is wrong, or "".
std::string CsvReader::read_cells(std::size_t& offset) {
    while (true) {
        std::string& cell = new_cell();
        std::string problem =
            at(offset) == '"' ? read_quoted_cell(offset, cell) : read_plain_cell(offset, cell);
        if (!problem.empty()) return problem;
        if (at(offset) != separator_) return {};
        ++offset;
    }
}

std::string CsvReader::read_quoted_cell(std::size_t& offset, std::string& cell) {
    ++offset;
    while (true) {
        if (at(offset) == end_of_input) return "a quoted cell is never closed";
        if (offset > longest_row) return "a quoted cell is not closed within 1 MiB";
        const std::size_t begin = position_ + offset;
        const std::size_t quote = std::min(buffer_.find('"', begin), buffer_.size());
        cell.append(buffer_, begin, quote - begin);
        offset += quote - begin;
        if (quote == buffer_.size()) continue;
        if (at(++offset) != '"') break;
        cell += '"';
        ++offset;
    }
    if (at(offset) == '\r' && (at(offset + 1) == '\n' || at(offset + 1) == end_of_input)) ++offset;
    const int behind = at(offset);
    if (behind == separator_ || behind == '\n' || behind == end_of_input) return {};
    return "text follows a closing quote";
}

std::string CsvReader::read_plain_cell(std::size_t& offset, std::string& cell) {
    const std::array<char, 3> ends{separator_, '\n', '"'};
    while (at(offset) != end_of_input) {
        if (offset > longest_row) return std::string(too_long);
        const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(position_ + offset);
        const auto end = std::find_first_of(begin, buffer_.end(), ends.begin(), ends.end());
        cell.append(begin, end);
        offset += static_cast<std::size_t>(end - begin);
        if (end == buffer_.end()) continue;
        if (*end == '"') return "a quote is inside a cell that does not begin with one";
        if (*end == separator_) return {};
        break;
    }
    if (!cell.empty() && cell.back() == '\r') cell.pop_back();
    return {};
}

std::string& CsvReader::new_cell() {
    if (unescaped_count_ == unescaped_.size()) unescaped_.emplace_back();
    std::string& cell = unescaped_[unescaped_count_++];
    cell.clear();
    return cell;
}

}  // namespace ridge::measure
