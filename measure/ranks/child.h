// A child process that answers lines of text, and that never outlives its owner.
//
//   Child child = Child::start({"/usr/bin/ridge", "measure-rank", "0", "2", "0"}, "rank 0");
//   child.send(R"({"do": "open"})");
//   Child::receive_all({&child, 1}, 30.0, [](std::size_t, const std::string& line) { ... });
//
// Method: the child gets one end of a pair of sockets as file descriptor 3 (`rank_channel`). It
// leads a process group of its own, so that Ctrl-C reaches only the parent, and the kernel kills it
// when the parent ends, for whatever reason. The destructor kills and reaps it.
//
// Errors: DeviceError when the child cannot start, ends before it answers, or does not answer in
// time; the message says which child, and how it ended.
// Limits: Linux.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ridge::measure {

inline constexpr int rank_channel = 3;

class Child {
  public:
    /// `name` is the child's in messages. `settings` ("NAME=VALUE") take the place of those in the
    /// environment.
    [[nodiscard]] static Child start(const std::vector<std::string>& command, std::string name,
                                     const std::vector<std::string>& settings = {});
    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    void send(const std::string& line);
    /// Closes the channel, after which the child should end by itself.
    void hang_up();
    /// Waits for a child that should end, then kills it.
    void finish(double seconds);
    [[nodiscard]] const std::string& name() const { return name_; }

    /// Gives one line of each child to `take`, as they arrive, all within `seconds`. Ends as soon as
    /// one child ends or `take` throws: the others may then wait for it in vain.
    static void receive_all(std::span<Child> children, double seconds,
                            const std::function<void(std::size_t, const std::string&)>& take);

  private:
    Child(int process, int channel, std::string name)
        : process_(process), channel_(channel), name_(std::move(name)) {}

    [[nodiscard]] std::string how_it_ended();
    void kill();

    int process_ = -1;
    int channel_ = -1;
    std::string name_;
    std::string pending_;  ///< received bytes after the last line
};

/// Reads and writes lines on the child's end; for the child itself. `read_line` returns false when
/// the parent has closed the channel.
[[nodiscard]] bool read_line(int channel, std::string& pending, std::string& line);
void write_line(int channel, const std::string& line);

/// Makes the kernel end this process when its parent ends. False if the parent is already gone.
[[nodiscard]] bool end_with_parent();

}  // namespace ridge::measure
