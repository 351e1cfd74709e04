// The program is killed at random points and has to go on as if nothing had happened.
//
// HOLON_KILL_RUNS sets the number of kills, HOLON_KILL_SEED the first seed. A story that fails
// prints its seed; HOLON_KILL_SEED=<seed> HOLON_KILL_RUNS=1 plays it again. The points of the kills
// follow from the seed and the observed progress, so a repetition comes close, but is no replay.
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/e2e/program.h"

namespace e2e {
namespace {

constexpr int kRounds = 12;
constexpr int kKillsInAStoryMax = 4;
constexpr int kKillsUsual = 25;

int number_from(const char* name, int fallback) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::atoi(text) : fallback;
}

class Story {
public:
    explicit Story(unsigned seed) : random_(seed) {
        json::array rounds;
        for (int i = 1; i <= kRounds; ++i)
            rounds.push_back(
                runs(fmt::format("echo {} >> {}", name(i), lines_file().string()), "Next."));
        rounds.push_back(says("Finished."));
        program_.script(std::move(rounds));
    }

    // Kills up to `kills` times; returns how many it got in before the work was done.
    int play(int kills) {
        int killed = 0;
        while (killed < kills) {
            auto running = program_.start(next_command());
            if (!kill_somewhere(running)) {
                const auto finished = running.wait();
                EXPECT_EQ(finished.exit_code, 0) << finished.err;
                return killed;
            }
            EXPECT_EQ(running.wait().signal, SIGKILL);
            ++killed;
        }
        const auto last = program_.run(next_command());
        // The kill may have come after the last commit.
        if (last.exit_code != 0) EXPECT_THAT(last.err, testing::HasSubstr("nothing to resume"));
        return killed;
    }

    void check() {
        check_events();
        check_briefs();
        const auto results = check_transcript();
        check_lines(results);
    }

private:
    static std::string name(int round) { return fmt::format("line-{:02}", round); }
    std::filesystem::path lines_file() const { return program_.folder() / "lines.txt"; }

    bool is_admitted() {
        if (program_.run({"status", "--agent", "k"}).exit_code != 0) return false;
        return !program_.events("k", "message_admitted").empty();
    }

    // A prompt that was never admitted has to be given again; an admitted one must not be.
    std::vector<std::string> next_command() {
        if (is_admitted()) return {"run", "--resume", "--agent", "k"};
        return {"run", "--agent", "k", "--create-agent", "do the lines"};
    }

    std::uintmax_t progress() const {
        std::error_code missing;
        const auto lines = std::filesystem::file_size(lines_file(), missing);
        const auto log = std::filesystem::file_size(program_.home() / "holon.db-wal", missing);
        return (lines == std::uintmax_t(-1) ? 0 : lines) * 1000 +
               (log == std::uintmax_t(-1) ? 0 : log);
    }

    // False when the program was done before its time had come.
    bool kill_somewhere(Running& running) {
        // So many visible changes of the world, and then a moment more.
        int changes = std::uniform_int_distribution(0, 12)(random_);
        const auto spin =
            std::chrono::microseconds(std::uniform_int_distribution(0, 6000)(random_));
        auto seen = progress();
        while (changes > 0) {
            if (running.ends_within(0ms)) return false;
            const auto now = progress();
            if (now == seen) continue;
            seen = now;
            --changes;
        }
        const auto until = std::chrono::steady_clock::now() + spin;
        while (std::chrono::steady_clock::now() < until)
            if (running.ends_within(0ms)) return false;
        running.send(SIGKILL);
        return true;
    }

    void check_events() {
        const auto events = program_.events("k");
        int admitted = 0, terminal = 0;
        for (std::size_t i = 0; i < events.size(); ++i) {
            ASSERT_EQ(base::int_at(events[i], "event_seq"), static_cast<std::int64_t>(i + 1));
            const std::string kind = base::string_at(events[i], "kind");
            admitted += kind == "message_admitted" ? 1 : 0;
            terminal += kind == "turn_terminal" ? 1 : 0;
        }
        EXPECT_EQ(admitted, 1);
        EXPECT_EQ(terminal, 1);
        const auto status = program_.json_of({"status", "--agent", "k"});
        EXPECT_EQ(base::int_at(status.at("agent"), "pending", -1), 0);
        EXPECT_EQ(base::string_at(status.at("closure"), "outcome"), "completed");
        EXPECT_EQ(base::int_at(status.at("agent"), "total_message_count"), 1);
    }

    void check_briefs() {
        const auto briefs = program_.json_of({"tail", "--agent", "k"});
        ASSERT_EQ(of_kind(briefs, "result").size(), 1U);
        EXPECT_EQ(base::string_at(of_kind(briefs, "result")[0], "text"), "Finished.");
        EXPECT_EQ(of_kind(briefs, "ack").size(), 1U);
        EXPECT_TRUE(of_kind(briefs, "failure").empty());
    }

    // Pairs calls with results; returns the kind of error, or nothing, by the line a call writes.
    std::map<std::string, std::string> check_transcript() {
        const auto entries =
            program_.json_of({"transcript", "--agent", "k", "--limit", "1000"}).as_array();
        EXPECT_EQ(of_kind(entries, "incoming_message").size(), 1U);
        std::map<std::string, std::string> waiting, results;  // By call id; by line.
        std::int64_t round = 0;
        for (const auto& entry : entries) {
            const std::string kind = base::string_at(entry, "kind");
            if (kind == "assistant_round") {
                EXPECT_TRUE(waiting.empty()) << "a round follows calls without results";
                EXPECT_EQ(base::int_at(entry, "round"), ++round);
                for (const auto& block : entry.at("data").at("blocks").as_array())
                    if (base::string_at(block, "type") == "tool_use")
                        waiting[base::string_at(block, "id")] =
                            base::string_at(block.at("input"), "cmd").substr(5, 7);
            }
            if (kind != "tool_results") continue;
            for (const auto& result : entry.at("data").at("results").as_array()) {
                const auto call = waiting.extract(base::string_at(result, "tool_use_id"));
                EXPECT_FALSE(call.empty()) << "a result without its call";
                if (call.empty()) continue;
                const auto* error = base::find(result, "error");
                results[call.mapped()] = error ? base::string_at(*error, "kind") : "";
            }
        }
        EXPECT_TRUE(waiting.empty());
        EXPECT_EQ(round, kRounds + 1);
        return results;
    }

    void check_lines(const std::map<std::string, std::string>& results) {
        std::map<std::string, int> written;
        const std::string text = program_.read(lines_file());
        for (const auto line : base::split_lines(text)) ++written[std::string(line)];
        for (int i = 1; i <= kRounds; ++i) {
            const auto result = results.find(name(i));
            ASSERT_NE(result, results.end()) << name(i);
            EXPECT_THAT(result->second, testing::AnyOf("", "tool_outcome_unknown"));
            // Unknown means that it may have run; it was never made again.
            EXPECT_LE(written[name(i)], 1) << name(i);
            if (result->second.empty()) EXPECT_EQ(written[name(i)], 1) << name(i);
        }
    }

    Program program_;
    std::mt19937 random_;
};

TEST(Kill, LosesAndRepeatsNothing) {
    const int wanted = number_from("HOLON_KILL_RUNS", kKillsUsual);
    unsigned seed = static_cast<unsigned>(number_from("HOLON_KILL_SEED", 1));
    int killed = 0;
    for (int stories = 0; killed < wanted && stories < wanted * 2; ++seed, ++stories) {
        SCOPED_TRACE(fmt::format("HOLON_KILL_SEED={}", seed));
        Story story(seed);
        killed +=
            story.play(std::min(wanted - killed, 1 + static_cast<int>(seed) % kKillsInAStoryMax));
        story.check();
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GE(killed, wanted);
}

}  // namespace
}  // namespace e2e
