// Streams of a broken machine: input that fails, input without end, and a full disk.
//
//   test::FullDisk disk(1000);
//   std::ostream out(&disk);     // takes 1000 bytes and then fails
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <utility>

namespace ridge::test {

/// Gives its text, then an error instead of the end of the file.
class FailingInput : public std::streambuf {
  public:
    explicit FailingInput(std::string text) : text_(std::move(text)) {
        setg(text_.data(), text_.data(), text_.data() + text_.size());
    }

  protected:
    int_type underflow() override { throw std::runtime_error("input/output error"); }

  private:
    std::string text_;
};

/// Keeps `space` bytes and takes no more.
class FullDisk : public std::streambuf {
  public:
    explicit FullDisk(std::size_t space) : space_(space) {}
    std::string kept;

  protected:
    int_type overflow(int_type c) override {
        if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
        const char byte = traits_type::to_char_type(c);
        return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
    }
    std::streamsize xsputn(const char* bytes, std::streamsize count) override {
        const auto taken = std::min(space_ - kept.size(), static_cast<std::size_t>(count));
        kept.append(bytes, taken);
        return static_cast<std::streamsize>(taken);
    }

  private:
    std::size_t space_;
};

/// A first line, then the same row without end. Counts the bytes that were read.
class EndlessRows : public std::streambuf {
  public:
    EndlessRows(const std::string& first, const std::string& row)
        : text_(first + "\n"), row_(row + "\n") {}
    std::size_t given = 0;

  protected:
    int_type underflow() override {
        if (given > 0) text_ = row_;
        given += text_.size();
        setg(text_.data(), text_.data(), text_.data() + text_.size());
        return traits_type::to_int_type(text_.front());
    }

  private:
    std::string text_;
    std::string row_;
};

}  // namespace ridge::test
