// The user's own files that an answer rests on, named with it.
//
//   UsedFiles used(user_folder());
//   NotedOutput out(*context.out.rdbuf(), used, NoteForm::line);
//   used.add("h100-sxm", "/home/me/.config/ridge/gpus/h100.toml");   // while machines are resolved
//   std::ostream(&out) << "matmul ...";    // "With h100.toml for h100-sxm ...", then "matmul ..."
//
// Method: machines are resolved before the first character is written. Then a table begins with a
// line that names the files, and a JSON object with the member "gpu_files".
// Limits: other formats (CSV, lists in JSON) are left as they are; `ridge gpus` names files in each.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <streambuf>
#include <string>
#include <string_view>

namespace ridge::cli {

class UsedFiles {
  public:
    explicit UsedFiles(std::string folder) : folder_(std::move(folder)) {}

    /// Notes the origin of a description, if it is a file in the user's folder.
    void add(std::string_view gpu, std::string_view origin);

    [[nodiscard]] bool empty() const { return files_.empty(); }
    /// "With FILE for h100-sxm (`ridge gpus forget h100-sxm` removes it):"
    [[nodiscard]] std::string line() const;
    /// "\"gpu_files\": [...]"
    [[nodiscard]] std::string member() const;

  private:
    std::string folder_;
    std::map<std::string, std::string, std::less<>> files_;  ///< of each GPU
};

enum class NoteForm : std::uint8_t { none, line, member };

/// How the output of a command line can carry the note.
[[nodiscard]] NoteForm note_form(std::span<const std::string> arguments);

/// Passes everything on to `to`, with the note before the first character.
class NotedOutput : public std::streambuf {
  public:
    NotedOutput(std::streambuf& to, const UsedFiles& used, NoteForm form)
        : to_(to), used_(used), form_(form) {}

  protected:
    int_type overflow(int_type letter) override;
    std::streamsize xsputn(const char* text, std::streamsize count) override;
    int sync() override { return to_.pubsync(); }

  private:
    std::streamsize pass_on(std::string_view text);
    std::streamsize begin(std::string_view text);

    std::streambuf& to_;
    const UsedFiles& used_;
    NoteForm form_;
    bool begun_ = false;
};

}  // namespace ridge::cli
