// A conversation for people: who said what and when, and how each call ended.
#pragma once

#include <span>
#include <string>

#include "domain/record.h"
#include "surfaces/cli/view/terminal.h"

namespace cli {

// Prints to `out`, in lines of at most the width of the terminal.
class TranscriptView {
public:
    explicit TranscriptView(const Terminal& terminal);
    void print(std::span<const domain::TranscriptEntry> entries);

private:
    void print(const domain::TranscriptEntry& entry);
    void say(std::string_view who, std::string_view text);
    void show_diff(std::string_view patch);
    void show_calls(const json::value& data);
    void show_results(const json::value& data);

    const Terminal& terminal_;
    std::size_t columns_;
    std::string day_;
    std::string clock_;  // Of the entry; shown once.
};

}  // namespace cli
