// Appends records of one file to another and prints the number of each as soon as it is kept. The
// test of broken disks (check_faults.py) runs it under failing system calls.
//
//   append_records FILE SOURCE FIRST COUNT
#include <cstdlib>
#include <exception>
#include <iostream>

#include "measure/record/record.h"

int main(int count, char** words) {
    if (count != 5) return 1;
    try {
        const auto source = ridge::measure::read_records(words[2]);
        const auto first = static_cast<std::size_t>(std::atoll(words[3]));
        const auto end = first + static_cast<std::size_t>(std::atoll(words[4]));
        for (std::size_t i = first; i < end; ++i) {
            ridge::measure::append_record(words[1], source.records.at(i));
            std::cout << i + 1 << std::endl;
        }
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
    return 0;
}
