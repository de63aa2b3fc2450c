#include "cli/input/csv_reader.h"

#include <algorithm>
#include <istream>

#include "hardware/error.h"

namespace ridge::cli {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 18;
constexpr std::size_t longest_row = std::size_t{1} << 20;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

}  // namespace

CsvReader::CsvReader(std::istream& stream, std::string file)
    : stream_(stream), file_(std::move(file)) {
    if (fill() && std::string_view(buffer_).substr(0, byte_order_mark.size()) == byte_order_mark) {
        position_ = byte_order_mark.size();
    }
}

bool CsvReader::fill() {
    if (at_end_) return false;
    buffer_.erase(0, position_);
    position_ = 0;
    const std::size_t kept = buffer_.size();
    buffer_.resize(kept + chunk);
    stream_.read(buffer_.data() + kept, static_cast<std::streamsize>(chunk));
    const auto count = static_cast<std::size_t>(stream_.gcount());
    buffer_.resize(kept + count);
    at_end_ = count < chunk;
    return count > 0;
}

/// Offset of the line break that ends the row at `position_`, or of the end of the input.
std::size_t CsvReader::find_row_end() {
    std::size_t scanned = position_;
    bool quoted = false;
    while (true) {
        while (scanned < buffer_.size()) {
            if (!quoted) {
                // The common row holds no quote: one search finds its end.
                const std::string_view rest = std::string_view(buffer_).substr(scanned);
                const std::size_t end = rest.find('\n');
                const std::size_t quote = rest.substr(0, end).find('"');
                if (quote == std::string_view::npos) {
                    if (end != std::string_view::npos) return scanned + end;
                    scanned = buffer_.size();
                    break;
                }
                scanned += quote + 1;
                quoted = true;
            } else {
                const std::size_t quote = buffer_.find('"', scanned);
                if (quote == std::string::npos) {
                    scanned = buffer_.size();
                    break;
                }
                scanned = quote + 1;
                quoted = false;
            }
        }
        if (buffer_.size() - position_ > longest_row) {
            throw InputError("row is longer than 1 MiB", {file_, line_, 1});
        }
        const std::size_t offset = scanned - position_;
        if (!fill()) return buffer_.size();
        scanned = position_ + offset;
    }
}

bool CsvReader::next() {
    while (true) {
        problem_.clear();
        const std::size_t end = find_row_end();
        if (end == position_ && end >= buffer_.size()) return false;
        row_line_ = line_;
        std::string_view row(buffer_.data() + position_, end - position_);
        line_ += 1 + std::count(row.begin(), row.end(), '\n');
        position_ = std::min(end + 1, buffer_.size());
        if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
        if (row.empty()) continue;
        raw_ = row;
        split(row);
        return true;
    }
}

void CsvReader::split(std::string_view row) {
    cells_.clear();
    if (row.find('"') != std::string_view::npos) {
        split_quoted(row);
        return;
    }
    while (true) {
        const std::size_t comma = row.find(',');
        cells_.push_back(row.substr(0, comma));
        if (comma == std::string_view::npos) return;
        row.remove_prefix(comma + 1);
    }
}

void CsvReader::split_quoted(std::string_view row) {
    unescaped_.clear();
    std::size_t at = 0;
    while (true) {
        std::string cell;
        if (at < row.size() && row[at] == '"') {
            ++at;
            bool closed = false;
            while (at < row.size()) {
                if (row[at] != '"') {
                    cell += row[at++];
                } else if (at + 1 < row.size() && row[at + 1] == '"') {
                    cell += '"';
                    at += 2;
                } else {
                    ++at;
                    closed = true;
                    break;
                }
            }
            if (!closed) problem_ = "a quoted cell is never closed";
            const std::size_t comma = std::min(row.find(',', at), row.size());
            if (comma > at && problem_.empty()) problem_ = "text follows a closing quote";
            at = comma;
        } else {
            const std::size_t comma = std::min(row.find(',', at), row.size());
            cell.assign(row.substr(at, comma - at));
            at = comma;
        }
        unescaped_.push_back(std::move(cell));
        if (at >= row.size()) break;
        ++at;
    }
    for (const std::string& cell : unescaped_) cells_.emplace_back(cell);
}

}  // namespace ridge::cli
