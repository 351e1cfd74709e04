#include "surfaces/cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::expected<Command, Stop> parsed(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "holon");
    return parse(static_cast<int>(arguments.size()), arguments.data());
}

template <class T>
T action(std::vector<const char*> arguments) {
    const auto command = parsed(std::move(arguments));
    EXPECT_TRUE(command) << command.error().text;
    const T* found = command ? std::get_if<T>(&command->action) : nullptr;
    EXPECT_NE(found, nullptr);
    return found ? *found : T{};
}

Stop stop(std::vector<const char*> arguments) {
    const auto command = parsed(std::move(arguments));
    EXPECT_FALSE(command);
    return command ? Stop{} : command.error();
}

TEST(Parse, ARunTakesAllThatAPromptNeeds) {
    const auto plain = action<RunCommand>({"run", "do it"});
    EXPECT_EQ(base::to_json(plain.request), base::to_json(service::RunRequest{.text = "do it"}));
    EXPECT_FALSE(plain.json);
    const auto full = action<RunCommand>({"run", "--agent=a", "--create-agent", "--resume",
                                          "--trust", "untrusted-external", "--max-turns", "3",
                                          "--workspace-root", "/w", "--cwd", "sub", "--json", "x"});
    EXPECT_EQ(base::to_json(full.request),
              base::to_json(service::RunRequest{.text = "x",
                                                .agent = "a",
                                                .create_agent = true,
                                                .resume = true,
                                                .trust = domain::TrustLevel::UntrustedExternal,
                                                .max_turns = 3,
                                                .workspace_root = "/w",
                                                .cwd = "sub"}));
    EXPECT_TRUE(full.json);
}

TEST(Parse, AResumedRunNeedsAnAgentButNoText) {
    EXPECT_EQ(action<RunCommand>({"run", "--resume", "--agent", "a"}).request.text, "");
    EXPECT_EQ(stop({"run", "--resume"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"run"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"run", "--create-agent", "x"}).exit, Exit::Usage);
}

TEST(Parse, ReadersTakeAnAgentALimitAndAHome) {
    EXPECT_EQ(action<StatusCommand>({"status"}).agent, std::nullopt);
    const auto transcript = action<TranscriptCommand>({"transcript", "--agent", "a", "--json"});
    EXPECT_EQ(transcript.agent, "a");
    EXPECT_EQ(transcript.limit, 50);
    EXPECT_TRUE(transcript.json);
    EXPECT_EQ(action<TailCommand>({"tail", "--limit", "3"}).limit, 3);
    const auto events = action<EventsCommand>({"events", "--after-seq", "7"});
    EXPECT_EQ(events.after_seq, 7);
    EXPECT_EQ(events.limit, 128);
    EXPECT_EQ(parsed({"agent", "list", "--home", "/h"})->home, "/h");
}

TEST(Parse, ValuesThatDoNotFitAreUsageErrors) {
    EXPECT_EQ(stop({"run", "--max-turns", "0", "x"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"run", "--max-turns", "many", "x"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"run", "--trust", "trusted_operator", "x"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"tail", "--limit", "0"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"status", "--nonsense"}).exit, Exit::Usage);
    EXPECT_EQ(stop({"agent"}).exit, Exit::Usage);
}

TEST(Parse, AnUnknownCommandNamesTheNearest) {
    const Stop unknown = stop({"statsu"});
    EXPECT_EQ(unknown.exit, Exit::Usage);
    EXPECT_THAT(unknown.text, AllOf(HasSubstr("no command 'statsu'"), HasSubstr("status")));
    EXPECT_THAT(stop({"\x1b[2J"}).text, HasSubstr("\\x1b"));
}

TEST(Parse, HelpAndVersionSucceedAndNothingAtAllDoesNot) {
    for (const char* word : {"help", "--help", "-h"}) {
        const Stop help = stop({word});
        EXPECT_EQ(help.exit, Exit::Success) << word;
        EXPECT_THAT(help.text, AllOf(HasSubstr("Examples:"), HasSubstr("HOLON_MODEL"),
                                     HasSubstr("Exit codes:")));
    }
    EXPECT_EQ(stop({"run", "--help"}).exit, Exit::Success);
    EXPECT_THAT(stop({"run", "--help"}).text, HasSubstr("--max-turns"));
    EXPECT_EQ(stop({"--version"}).text, "holon " HOLON_VERSION "\n");
    EXPECT_EQ(stop({}).exit, Exit::Usage);
}

}  // namespace
}  // namespace cli
