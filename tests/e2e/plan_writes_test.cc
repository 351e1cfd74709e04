// Plans that write to one vault at the same time, and plans that are killed while they write.
#include <csignal>

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/program.h"

namespace e2e {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

json::object loop(std::string_view id, std::string_view tool, json::object args, int concurrency) {
    return {{"id", id},
            {"tool", tool},
            {"foreach",
             {{"from", "$vars.params.items"}, {"itemName", "n"}, {"concurrency", concurrency}}},
            {"args", std::move(args)}};
}

class PlanWritesE2e : public testing::Test {
protected:
    // Writes the plan and its parameter `items`, the numbers below `count`.
    std::vector<std::string> plan(const std::string& name, json::array steps, int count) {
        const auto file = program.folder() / (name + ".json");
        program.write(file, base::json_text(json::object{{"version", "1.0"},
                                                         {"goal", "Write"},
                                                         {"riskLevel", "writes"},
                                                         {"steps", std::move(steps)}}));
        json::array items;
        for (int i = 0; i < count; ++i) items.emplace_back(std::to_string(i));
        return {"plan",
                "run",
                file.string(),
                "--vault",
                program.repo().string(),
                "--param",
                "items=" + base::json_text(items),
                "--yes",
                "--json"};
    }
    // Every file of the vault, and its empty folders.
    Files vault() {
        Files out;
        for (const auto& entry : fs::recursive_directory_iterator(program.repo())) {
            const std::string path = entry.path().lexically_relative(program.repo()).string();
            if (entry.is_regular_file())
                out[path] = program.read(entry.path());
            else if (fs::is_empty(entry.path()))
                out[path + "/"] = "";
        }
        return out;
    }
    // How many folders the plan has made so far.
    std::size_t made() {
        std::error_code ignored;
        const fs::directory_iterator entries(program.repo() / "new", ignored);
        return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
    }
    std::vector<std::string> lines(const std::string& file) {
        const std::string text = program.read(program.repo() / file);
        std::vector<std::string> out;
        for (const auto line : base::split_lines(text)) out.emplace_back(line);
        std::ranges::sort(out);
        return out;
    }
    static std::vector<std::string> numbers(const std::string& prefix, int count) {
        std::vector<std::string> out;
        for (int i = 0; i < count; ++i) out.push_back(prefix + std::to_string(i));
        std::ranges::sort(out);
        return out;
    }

    Program program;
};

TEST_F(PlanWritesE2e, TwoHundredAppendsSideBySideLoseAndDoubleNothingAndAreReverted) {
    constexpr int kLines = 200;
    program.write(program.repo() / "note.md", "first\n");
    const Files before = vault();
    const auto run = program.run(
        plan("append",
             {loop("a", "vault.writeFile",
                   {{"path", "note.md"}, {"content", "line {n}\n"}, {"mode", "append"}}, 4)},
             kLines));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    auto wanted = numbers("line ", kLines);
    wanted.insert(wanted.begin(), "first");
    EXPECT_EQ(lines("note.md"), wanted);
    const auto reverted = program.run({"plan", "revert", "last", "--yes"});
    EXPECT_EQ(reverted.exit_code, 0) << reverted.out << reverted.err;
    EXPECT_EQ(vault(), before);
}

TEST_F(PlanWritesE2e, TwoProgramsThatAppendToOneNoteLoseAndDoubleNothing) {
    constexpr int kLines = 50;
    program.write(program.repo() / "note.md", "");
    const auto arguments = [&](const std::string& name) {
        return plan(
            name,
            {loop("a", "vault.writeFile",
                  {{"path", "note.md"}, {"content", name + " {n}\n"}, {"mode", "append"}}, 4)},
            kLines);
    };
    auto one = program.start(arguments("one"));
    auto two = program.start(arguments("two"));
    EXPECT_EQ(one.wait().exit_code, 0);
    EXPECT_EQ(two.wait().exit_code, 0);
    auto wanted = numbers("one ", kLines);
    std::ranges::copy(numbers("two ", kLines), std::back_inserter(wanted));
    EXPECT_EQ(lines("note.md"), wanted);
    EXPECT_EQ(vault().size(), 1u);
}

// contract: LOG-03
TEST_F(PlanWritesE2e, AKilledPlanIsCompletedWithoutTwinsAndRevertedToTheByte) {
    constexpr int kFiles = 60;
    constexpr int kKills = 6;
    program.write(program.repo() / "log.md", "log\n");
    program.write(program.repo() / "old.md", "old\n");
    const Files before = vault();
    Files wanted = before;
    for (int i = 0; i < kFiles; ++i)
        wanted[fmt::format("new/{}/n.md", i)] = fmt::format("note {}\n", i);
    auto arguments = plan(
        "write",
        {loop("c", "vault.createFile", {{"path", "new/{n}/n.md"}, {"content", "note {n}\n"}}, 4),
         loop("a", "vault.writeFile",
              {{"path", "log.md"}, {"content", "line {n}\n"}, {"mode", "append"}}, 2)},
        kFiles);
    std::mt19937 random(11);
    int exit_code = -1;
    for (int start = 0; start <= kKills; ++start) {
        auto running = program.start(arguments);
        arguments = {"plan", "resume", "last", "--json"};
        // After some of its files, wherever that is.
        const std::size_t enough = made() + 3 + random() % 8;
        while (start < kKills && made() < enough && !running.ends_within(1ms)) {
        }
        if (start < kKills) running.send(SIGKILL);
        const auto finished = running.wait();
        exit_code = finished.exit_code;
        EXPECT_THAT(exit_code, testing::AnyOf(-1, 0)) << finished.out << finished.err;
        if (exit_code >= 0) break;  // It came to its end before it could be killed.
    }
    if (exit_code < 0) exit_code = program.run({"plan", "resume", "last", "--json"}).exit_code;
    EXPECT_EQ(exit_code, 0);
    const Files after = vault();
    auto all_lines = numbers("line ", kFiles);
    all_lines.insert(std::ranges::upper_bound(all_lines, std::string("log")), "log");
    EXPECT_EQ(lines("log.md"), all_lines);
    wanted["log.md"] = after.at("log.md");
    EXPECT_EQ(after, wanted);
    EXPECT_EQ(program.json_of({"plan", "verify", "last"}).at("unknownOutcomes"), json::array());
    const auto reverted = program.run({"plan", "revert", "last", "--yes"});
    EXPECT_EQ(reverted.exit_code, 0) << reverted.out << reverted.err;
    EXPECT_EQ(vault(), before);
}

}  // namespace
}  // namespace e2e
