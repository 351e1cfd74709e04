#include "surfaces/tui/compose/commands.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tui {
namespace {

using testing::HasSubstr;

Command read(std::string_view line) {
    const auto command = read_command(line);
    EXPECT_TRUE(command && *command) << line;
    return command && *command ? **command : Command{};
}

std::string refusal(std::string_view line) {
    const auto command = read_command(line);
    EXPECT_FALSE(command) << line;
    return command ? "" : command.error().message;
}

TEST(Commands, AreReadWithTheirArguments) {
    EXPECT_EQ(read("/help"), (Command{.name = CommandName::Help}));
    EXPECT_EQ(read("/agent  switch   main "),
              (Command{.name = CommandName::Agent, .arguments = {"switch", "main"}}));
    EXPECT_EQ(read("/agent stop"), (Command{.name = CommandName::Agent, .arguments = {"stop"}}));
    EXPECT_EQ(read("/search two  words"),
              (Command{.name = CommandName::Search, .rest = "two  words"}));
    EXPECT_EQ(read("/attach /a folder/with blanks"),
              (Command{.name = CommandName::Attach, .rest = "/a folder/with blanks"}));
    EXPECT_EQ(read("/export"), (Command{.name = CommandName::Export}));
}

// contract: TUI-21
TEST(Commands, DisplayTakesTheNameOfAModeOrItsNumber) {
    constexpr auto kModes = std::to_array<std::pair<const char*, const char*>>(
        {{"3", "info"}, {"4", "verbose"}, {"5", "debug"}});
    for (const auto& [number, mode] : kModes) {
        const Command by_name{.name = CommandName::Display, .arguments = {mode}};
        EXPECT_EQ(read(std::string("/display ") + number), by_name);
        EXPECT_EQ(read(std::string("/display ") + mode), by_name);
    }
    EXPECT_THAT(refusal("/display trace"), HasSubstr("/events"));
    EXPECT_THAT(refusal("/display 9"), HasSubstr("<info|verbose|debug|3|4|5>"));
    EXPECT_THAT(refusal("/display 33"), HasSubstr("no display mode 33"));
    EXPECT_THAT(refusal("/display"), HasSubstr("Usage: /display"));
    EXPECT_THAT(refusal("/display info debug"), HasSubstr("Usage: /display"));
}

TEST(Commands, ARefusalSaysHowItIsUsed) {
    EXPECT_THAT(refusal("/agent pause main"), HasSubstr("/agent stop"));
    EXPECT_THAT(refusal("/agent resume"), HasSubstr("/agent start"));
    EXPECT_THAT(refusal("/agent"), HasSubstr("Usage: /agent <switch|create|start|stop>"));
    EXPECT_THAT(refusal("/agent create"), HasSubstr("/agent create <name>"));
    EXPECT_THAT(refusal("/agent \x1b[2J main"), HasSubstr("\\x1b[2J"));
    EXPECT_THAT(refusal("/abort now please"), HasSubstr("//abort"));
    EXPECT_THAT(refusal("/search a\nb"), HasSubstr("one line"));
    EXPECT_THAT(refusal("/help\nme"), HasSubstr("one line"));
    EXPECT_THAT(refusal("/skill-install"), HasSubstr("<name>"));
}

TEST(Commands, AnUnknownWordIsChat) {
    for (const auto* line :
         {"/tmp/a.txt is broken", "/", "/hel", "/helper", "//help", "help", ""}) {
        const auto command = read_command(line);
        ASSERT_TRUE(command) << line;
        EXPECT_EQ(*command, std::nullopt) << line;
    }
}

TEST(Commands, EachNameIsInTheTableOnce) {
    std::set<std::string_view> words;
    std::set<CommandName> names;
    for (const auto& spec : commands()) {
        EXPECT_TRUE(spec.word.starts_with('/'));
        EXPECT_FALSE(spec.help.empty());
        EXPECT_EQ(spec.usage.empty(), spec.arguments_max == 0 && !spec.takes_text) << spec.word;
        EXPECT_TRUE(words.insert(spec.word).second) << spec.word;
        EXPECT_TRUE(names.insert(spec.name).second) << spec.word;
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(CommandName::Quit) + 1);
}

}  // namespace
}  // namespace tui
