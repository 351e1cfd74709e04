#include "tests/injection/case.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

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

std::vector<Case> spread_cases() {
    const auto attacks = read_cases(false);
    std::set<std::string> routes, calls;
    std::set<std::pair<std::string, std::string>> known;
    std::vector<const Case*> made;
    for (const auto& one : attacks) {
        routes.insert(one.enters);
        const bool is_one_call = one.rounds.size() == 1 && !one.rounds[0].tool.empty() &&
                                 one.rounds[0].input.find("{task}") == std::string::npos;
        if (!is_one_call) continue;
        const std::string call = one.rounds[0].tool + " " + one.rounds[0].input;
        known.emplace(one.enters, call);
        if (calls.insert(call).second) made.push_back(&one);
    }
    std::vector<Case> list;
    int number = 0;
    for (const auto& route : routes) {
        ++number;
        for (const auto* one : made) {
            if (known.contains({route, one->rounds[0].tool + " " + one->rounds[0].input})) continue;
            Case spread = *one;
            spread.family = "route" + std::to_string(number) + "_" + one->family;
            spread.enters = route;
            list.push_back(std::move(spread));
        }
    }
    return list;
}

}  // namespace injection
