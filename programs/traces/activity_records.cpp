#include "programs/traces/activity_records.h"

#include <algorithm>
#include <cstring>

#include "hardware/error.h"

namespace ridge::programs {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20U;
constexpr std::size_t head_bytes = 4;

}  // namespace

ActivityRecords::ActivityRecords(const std::string& file) : source_(file), buffer_(buffer_bytes) {
    const std::size_t got = fill(activity_magic.size());
    if (std::string_view(buffer_.data(), got) != activity_magic) {
        throw InputError("is not an activity file of ridge profile", {.file = file});
    }
    begin_ += got;
    result_.bytes = got;
}

/// Reads until `wanted` bytes are available at `begin_`, or all that are left; returns how many are
/// available.
std::size_t ActivityRecords::fill(std::size_t wanted) {
    if (end_ - begin_ < wanted && begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    while (end_ - begin_ < wanted) {
        const std::size_t got = source_.read(buffer_.data() + end_, buffer_.size() - end_);
        if (got == 0) break;
        end_ += got;
    }
    return std::min(wanted, end_ - begin_);
}

bool ActivityRecords::next() {
    if (!result_.damage.empty()) return false;
    record_ = result_.bytes;
    const std::size_t head = fill(head_bytes);
    if (head == 0 && source_.failure().empty()) return false;
    std::uint32_t word = 0;
    if (head == head_bytes) std::memcpy(&word, buffer_.data() + begin_, head_bytes);
    const std::size_t length = word >> 8U;
    if (head < head_bytes || fill(head_bytes + length) < head_bytes + length) {
        damage(source_.failure().empty() ? "the file ends within a record" : source_.failure());
        return false;
    }
    tag_ = static_cast<ActivityTag>(word & 0xFFU);
    payload_ = {buffer_.data() + begin_ + head_bytes, length};
    begin_ += head_bytes + length;
    result_.bytes += head_bytes + length;
    ++result_.events;
    return true;
}

void ActivityRecords::damage(const std::string& what) {
    result_.damage = what + " (byte " + std::to_string(record_) + ")";
}

}  // namespace ridge::programs
