#include "exec/tools/builtin/commands/command_text.h"

#include "base/text.h"

#include <gmock/gmock.h>

namespace builtin {
namespace {

TEST(CommandPreview, ShowsACommandOnOneLine) {
    EXPECT_EQ(command_preview("ls -la\n  | head\t-3"), "ls -la | head -3");
    EXPECT_EQ(command_preview(""), "");
    EXPECT_EQ(command_preview("printf '\x1b[31m'"), R"(printf '\x1b[31m')");
}

TEST(CommandPreview, MasksWhatLooksLikeASecret) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"export API_TOKEN=abc123 && ls", "export API_TOKEN=*** && ls"},
        {"gh auth --with-token ghp_abc", "gh auth --with-token ***"},
        {"tool --password=hunter2 -v", "tool --password=*** -v"},
        {"tool --password hunter2 -v", "tool --password *** -v"},
        {"tool --api-key 'a b' -v", "tool --api-key *** -v"},
        {R"(PGPASSWORD="a b;c" psql)", "PGPASSWORD=*** psql"},
        {R"(PASSWORD="a\"b c" run)", "PASSWORD=*** run"},
        {R"(PASSWORD=ab'c d'"e f" run)", "PASSWORD=*** run"},
        {R"(PASSWORD=a\ b run)", "PASSWORD=*** run"},
        {R"(PASSWORD="never closed)", "PASSWORD=***"},
        {R"(PASSWORD='never closed)", "PASSWORD=***"},
        {"AWS_SECRET_ACCESS_KEY=x/y+z aws s3 ls", "AWS_SECRET_ACCESS_KEY=*** aws s3 ls"},
        {"curl -H 'x-api-key: abc' x.test", "curl -H 'x-api-key: ***' x.test"},
        {R"(curl -H "Authorization: Bearer abc.def-123" x.test)",
         R"(curl -H "Authorization: Bearer ***" x.test)"},
        {R"(curl -H "authorization: basic dXNlcjpwdw==" x.test)",
         R"(curl -H "authorization: basic ***" x.test)"},
        {R"(curl -d '{"password":"abc","user":"u"}' x.test)",
         R"(curl -d '{"password":***' x.test)"},
        {"git clone https://user:pw@host.test/x.git", "git clone https://***@host.test/x.git"},
        {"git clone https://user:p@w@host.test/x.git", "git clone https://***@host.test/x.git"},
        {"psql postgres://user@db/x", "psql postgres://***@db/x"},
        {"curl https://host.test/@scope/a", "curl https://host.test/@scope/a"},
        {"git log --author=someone", "git log --author=someone"},
    };
    for (const auto& [cmd, shown] : cases) EXPECT_EQ(command_preview(cmd), shown) << cmd;
}

TEST(CommandPreview, SaysOnlyHowLongAnInlineScriptIs) {
    for (const std::string cmd :
         {"cat <<EOF\nsecret\nEOF", "python - < x", "python3 -", "ls; bash -c 'x y'",
          "/bin/sh -lc 'x y'", "(zsh -c x y)", "ruby - a", "env X=1 perl - a"})
        EXPECT_EQ(command_preview(cmd),
                  fmt::format("[command with an inline script, {} characters]", cmd.size()))
            << cmd;
    for (const std::string cmd : {"python -m pytest", "node index.js", "publish -c x", "sh x.sh"})
        EXPECT_EQ(command_preview(cmd), cmd);
}

TEST(CommandPreview, IsShortHoweverLongTheCommand) {
    const std::string preview = command_preview("echo " + std::string(1024 * 1024, 'x'));
    EXPECT_EQ(preview, "echo " + std::string(kCommandPreviewCharsMax - 6, 'x') + "…");
    EXPECT_EQ(command_preview("TOKEN=\"" + std::string(1024 * 1024, 'x') + "\""), "TOKEN=***");
}

TEST(CommandText, TellsAHeredocFromAPlainRedirection) {
    EXPECT_TRUE(contains_heredoc("cat <<EOF\nx\nEOF"));
    EXPECT_FALSE(contains_heredoc("cat < x"));
    EXPECT_FALSE(contains_inline_script("cat <<EOF\nx\nEOF"));
}

}  // namespace
}  // namespace builtin
