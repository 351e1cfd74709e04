// The program is killed or interrupted at random points and has to continue as if nothing had
// happened.
//
// HOLON_KILL_RUNS sets the number of kills (and a third of it that of interruptions),
// HOLON_KILL_SEED the first seed. A story that fails prints its seed; HOLON_KILL_SEED=<seed>
// HOLON_KILL_RUNS=1 plays it again. The points of the kills follow from the seed and the observed
// progress, so a repetition comes close, but is no replay.
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
    Story(unsigned seed, int signal) : signal_(signal), random_(seed) {
        json::array rounds;
        for (int i = 1; i <= kRounds; ++i)
            rounds.push_back(
                runs(fmt::format("echo {} >> {}", name(i), lines_file().string()), "Next."));
        rounds.push_back(says("Finished."));
        program_.script(std::move(rounds));
    }

    // Strikes up to `times` times; returns how often it did before the work was done.
    int play(int times) {
        for (int struck = 0; struck < times; ++struck) {
            auto running = program_.start(next_command());
            const bool in_time = strike(running);
            const auto finished = running.wait();
            if (in_time && finished.signal == signal_) continue;
            if (in_time && signal_ == SIGINT && finished.exit_code == 130) continue;
            expect_done(finished);
            return struck;
        }
        expect_done(program_.run(next_command()));
        return times;
    }

    void check() {
        check_events();
        check_briefs();
        const auto results = check_transcript();
        check_lines(results);
    }

private:
    // The strike before may have come after the last commit.
    static void expect_done(const Finished& finished) {
        if (finished.exit_code != 0)
            EXPECT_THAT(finished.err, testing::HasSubstr("nothing to resume"));
    }

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
    bool strike(Running& running) {
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
        running.send(signal_);
        return true;
    }

    void check_events() {
        const auto events = program_.events("k");
        int admitted = 0, terminal = 0, completed = 0, aborted = 0;
        for (std::size_t i = 0; i < events.size(); ++i) {
            ASSERT_EQ(base::int_at(events[i], "event_seq"), static_cast<std::int64_t>(i + 1));
            const std::string kind = base::string_at(events[i], "kind");
            admitted += kind == "message_admitted" ? 1 : 0;
            if (kind != "turn_terminal") continue;
            ++terminal;
            const auto& data = events[i].at("data");
            completed += base::string_at(data, "kind") == "completed" ? 1 : 0;
            aborted += base::string_at(data, "reason") == "interrupted" ? 1 : 0;
        }
        EXPECT_EQ(admitted, 1);
        EXPECT_EQ(completed, 1);
        // A crash does not end a turn; an interruption does, and the next run opens another one.
        EXPECT_EQ(terminal, signal_ == SIGKILL ? 1 : 1 + aborted);
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
        int rounds = 0;
        for (const auto& entry : entries) {
            const std::string kind = base::string_at(entry, "kind");
            if (kind == "assistant_round") {
                EXPECT_TRUE(waiting.empty()) << "a round follows calls without results";
                ++rounds;
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
        EXPECT_EQ(rounds, kRounds + 1);
        return results;
    }

    void check_lines(const std::map<std::string, std::string>& results) {
        std::map<std::string, int> written;
        const std::string text = program_.read(lines_file());
        for (const auto line : base::split_lines(text)) ++written[std::string(line)];
        for (int i = 1; i <= kRounds; ++i) {
            const auto result = results.find(name(i));
            ASSERT_NE(result, results.end()) << name(i);
            if (signal_ == SIGKILL)
                EXPECT_THAT(result->second, testing::AnyOf("", "tool_outcome_unknown"));
            if (result->second == "tool_call_not_made") EXPECT_EQ(written[name(i)], 0) << name(i);
            // Unknown or cancelled means that it may have run; it was never made again.
            EXPECT_LE(written[name(i)], 1) << name(i);
            if (result->second.empty() && signal_ == SIGKILL)
                EXPECT_EQ(written[name(i)], 1) << name(i);
        }
    }

    Program program_;
    int signal_;
    std::mt19937 random_;
};

void play_stories(int signal, int wanted) {
    unsigned seed = static_cast<unsigned>(number_from("HOLON_KILL_SEED", 1));
    int hits = 0;
    for (int stories = 0; hits < wanted && stories < wanted * 2; ++seed, ++stories) {
        SCOPED_TRACE(fmt::format("HOLON_KILL_SEED={}", seed));
        Story story(seed, signal);
        hits += story.play(std::min(wanted - hits, 1 + static_cast<int>(seed) % kKillsInAStoryMax));
        story.check();
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GE(hits, wanted);
}

TEST(Kill, LosesAndRepeatsNothing) {
    play_stories(SIGKILL, number_from("HOLON_KILL_RUNS", kKillsUsual));
}

TEST(Kill, AnInterruptionLosesAndRepeatsNothing) {
    play_stories(SIGINT, number_from("HOLON_KILL_RUNS", kKillsUsual) / 3);
}

}  // namespace
}  // namespace e2e
