// Answers questions with the native program, as the explorer's module does: one question a line on
// stdin, words separated by tabs; one answer a line on stdout, as JSON with code, output, messages.
#include <iostream>
#include <string>
#include <string_view>

#include "hardware/json.h"

extern "C" {
int ridge_run(const char* call, std::size_t length);
const char* ridge_output();
std::size_t ridge_output_size();
const char* ridge_messages();
std::size_t ridge_messages_size();
}

int main() {
    std::ios::sync_with_stdio(false);
    std::string question;
    while (std::getline(std::cin, question)) {
        for (char& letter : question) letter = letter == '\t' ? '\0' : letter;
        const int code = ridge_run(question.data(), question.size());
        const std::string_view output(ridge_output(), ridge_output_size());
        const std::string_view messages(ridge_messages(), ridge_messages_size());
        std::cout << ridge::Json{{"code", code}, {"output", output}, {"messages", messages}}.text(
                         -1)
                  << '\n';
    }
}
