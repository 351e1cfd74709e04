#include "tests/injection/case.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace injection {
namespace {

[[noreturn]] void misread(const std::filesystem::path& file, const std::string& line) {
    std::fprintf(stderr, "%s: this line is not understood: %s\n", file.c_str(), line.c_str());
    std::abort();
}

Round call_of(const std::string& text) {
    const auto blank = text.find(' ');
    return {.tool = text.substr(0, blank), .input = text.substr(blank + 1)};
}

std::vector<Case> read_file(const std::filesystem::path& file) {
    std::vector<Case> cases;
    std::ifstream in(file);
    std::string line;
    while (std::getline(in, line)) {
        if (line.empty() || line.starts_with("# ")) continue;
        if (line.starts_with("## ")) {
            cases.push_back({.family = file.stem().string(), .name = line.substr(3)});
            cases.back().is_honest = cases.back().family == "honest";
            continue;
        }
        const auto colon = line.find(": ");
        if (cases.empty() || colon == line.npos) misread(file, line);
        const std::string word = line.substr(0, colon), rest = line.substr(colon + 2);
        auto& last = cases.back();
        if (word == "enters")
            last.enters = rest;
        else if (word == "says")
            last.says = rest;
        else if (word == "calls")
            last.rounds.push_back(call_of(rest));
        else if (word == "answers")
            last.rounds.push_back({.text = rest});
        else
            misread(file, line);
    }
    return cases;
}

}  // namespace

std::vector<Case> read_cases(bool honest) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(HOLON_INJECTION_CASES))
        files.push_back(entry.path());
    std::ranges::sort(files);
    std::vector<Case> list;
    for (const auto& file : files)
        for (auto& next : read_file(file))
            if (next.is_honest == honest) list.push_back(std::move(next));
    return list;
}

}  // namespace injection
