// The records of an activity file, one after another; see programs/recording/activity_format.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/byte_source.h"
#include "programs/recording/activity_format.h"
#include "programs/traces/trace.h"

namespace ridge::programs {

class ActivityRecords {
  public:
    /// Throws InputError if the file cannot be opened or does not begin like an activity file.
    explicit ActivityRecords(const std::string& file);

    /// Reads the next record; false at the end and at damage, which `result` then describes.
    [[nodiscard]] bool next();
    [[nodiscard]] ActivityTag tag() const { return tag_; }
    /// Valid until the next call of `next`.
    [[nodiscard]] std::string_view payload() const { return payload_; }

    template <class Value>
    [[nodiscard]] Value as() const {
        Value value;
        FieldReader reader(payload_);
        describe(reader, value);
        return value;
    }

    /// Ends the records because the current record contains an impossible value.
    void damage(const std::string& what);
    [[nodiscard]] const ReadResult& result() const { return result_; }

  private:
    [[nodiscard]] std::size_t fill(std::size_t wanted);

    ByteSource source_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::uint64_t record_ = 0;  ///< where the current record begins
    ActivityTag tag_ = ActivityTag::finish;
    std::string_view payload_;
    ReadResult result_;
};

}  // namespace ridge::programs
