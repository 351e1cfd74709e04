#include "exec/tools/outcomes/error_kinds.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "exec/tools/outcomes/outcomes.h"

namespace tools {
namespace {

using testing::IsEmpty;

// The places where errors of tools are made.
constexpr std::array kFolders{"agent", "app", "exec", "flow/plans", "flow/turn/decide"};
// What comes before a kind in the sources.
constexpr std::array kBeforeAKind{".kind = ",   "failure(",      "fail(",
                                  "ref_error(", "bad_redirect(", "SearchFault{"};
// Of failed turns; no tool ends with them.
const std::set<std::string> kOfTurns{"empty_answer", "restarts_exhausted", "unusable_tool_calls"};

bool is_name(char c) {
    return std::islower(static_cast<unsigned char>(c)) || c == '_';
}

// A file as if clang-format had an endless line: one space for each gap, none after a bracket.
std::string in_one_line(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    std::string line;
    for (const char c : text.str()) {
        if (!std::isspace(static_cast<unsigned char>(c))) {
            line += c;
            continue;
        }
        if (!line.empty() && line.back() != ' ' && line.back() != '(' && line.back() != '{')
            line += ' ';
    }
    return line;
}

// The quoted names between `begin` and the next comma or end: one, or both sides of a choice.
void add_names(const std::string& line, std::size_t begin, std::set<std::string>& names) {
    const auto end = line.find_first_of(",;)}", begin);
    std::size_t quote = line.find('"', begin);
    while (quote < end) {
        const auto close = line.find('"', quote + 1);
        const std::string name = line.substr(quote + 1, close - quote - 1);
        if (!name.empty() && std::ranges::all_of(name, is_name)) names.insert(name);
        quote = line.find('"', close + 1);
    }
}

std::set<std::string> kinds_in_the_sources() {
    std::set<std::string> names;
    for (const auto* folder : kFolders)
        for (const auto& entry : std::filesystem::recursive_directory_iterator(
                 std::filesystem::path(HOLON_SOURCES) / folder)) {
            const auto file = entry.path().filename().string();
            if (!entry.is_regular_file() || file.contains("test") ||
                (!file.ends_with(".cc") && !file.ends_with(".h")))
                continue;
            const auto line = in_one_line(entry.path());
            for (const std::string_view marker : kBeforeAKind)
                for (auto at = line.find(marker); at != std::string::npos;
                     at = line.find(marker, at + 1))
                    if (at == 0 || !is_name(line[at - 1]))
                        add_names(line, at + marker.size(), names);
        }
    for (const auto& name : kOfTurns) names.erase(name);
    return names;
}

TEST(ErrorKinds, EveryKindInTheSourcesHasItsCode) {
    const auto used = kinds_in_the_sources();
    EXPECT_GT(used.size(), 50U) << "the sources were not found";
    std::set<std::string> without;
    for (const auto& kind : used)
        if (!code_of(kind)) without.insert(kind);
    EXPECT_THAT(without, IsEmpty()) << "add them to error_kinds.cc";
}

TEST(ErrorKinds, EachIsListedOnce) {
    std::set<std::string_view> kinds;
    for (const auto& entry : error_kinds()) EXPECT_TRUE(kinds.insert(entry.kind).second);
}

// contract: RUN-03
TEST(ErrorKinds, EachCodeHasAKindThatAResultReports) {
    const std::map<std::string, std::string> cases{
        {"invalid_tool_input", "VALIDATION_ERROR"},
        {"policy_denied", "POLICY_DENIED"},
        {"unknown_work_item", "NOT_FOUND"},
        {"file_changed", "CONFLICT"},
        {"task_limit_reached", "PRECONDITION_FAILED"},
        {"delegation_limit_reached", "PRECONDITION_FAILED"},
        {"notification_refused", "PRECONDITION_FAILED"},
        {"mcp_server_unavailable", "PRECONDITION_FAILED"},
        {"mcp_timeout", "TIMEOUT"},
        {"tool_call_not_made", "CANCELLED"},
        {"tool_outcome_unknown", "INTERNAL_ERROR"}};
    for (const auto& [kind, code] : cases)
        EXPECT_EQ(
            without_running({}, {.kind = kind, .message = "m"}, domain::ResultStatus::Error, {})
                .result.error->code,
            code)
            << kind;
}

}  // namespace
}  // namespace tools
