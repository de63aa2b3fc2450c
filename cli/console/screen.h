// A terminal as an output stream. Text from files cannot control the terminal, in any format.
//
//   Screen screen(*std::cout.rdbuf());
//   std::ostream out(&screen);          // bold and plain pass, other escapes become spaces
//
// Method: text is passed on by lines, cleaned as `printable` does, but the three sequences that
// ridge writes stay: bold letters, plain letters, and a cleared line for progress. Files and pipes
// need no screen.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace ridge::cli {

class Screen : public std::streambuf {
  public:
    explicit Screen(std::streambuf& terminal) : terminal_(terminal) {}
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;
    ~Screen() override;

  protected:
    int_type overflow(int_type letter) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override;

  private:
    bool pass_on();

    std::streambuf& terminal_;
    std::string line_;
};

/// The line as a terminal may show it.
[[nodiscard]] std::string shown_on_screen(std::string_view line);

}  // namespace ridge::cli
