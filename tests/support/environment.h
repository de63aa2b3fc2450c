// Gives an environment variable another value as long as the object lives.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace ridge::test {

class Variable {
  public:
    Variable(const char* name, const std::string& value) : name_(name) {
        if (const char* const old = std::getenv(name)) old_ = old;  // NOLINT(concurrency-mt-unsafe)
        setenv(name, value.c_str(), 1);                             // NOLINT(concurrency-mt-unsafe)
    }
    ~Variable() {
        if (old_) {
            setenv(name_, old_->c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
        } else {
            unsetenv(name_);  // NOLINT(concurrency-mt-unsafe)
        }
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
    std::optional<std::string> old_;
};

}  // namespace ridge::test
