// Runs every file of cases/ as a test of its own.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/plans/case.h"

namespace plans_test {
namespace {

std::vector<std::filesystem::path> files() {
    std::vector<std::filesystem::path> list;
    for (const auto& entry : std::filesystem::directory_iterator(PLAN_CASES))
        if (entry.path().extension() == ".yaml") list.push_back(entry.path());
    std::ranges::sort(list);
    return list;
}

std::string test_name(const testing::TestParamInfo<std::filesystem::path>& info) {
    std::string name = info.param.stem().string();
    std::ranges::replace(name, '-', '_');
    return name;
}

class PlanCase : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(PlanCase, ComesOutAsItSays) {
    for (const auto& fault : run_case(GetParam())) ADD_FAILURE() << fault;
}

INSTANTIATE_TEST_SUITE_P(Files, PlanCase, testing::ValuesIn(files()), test_name);

}  // namespace
}  // namespace plans_test
