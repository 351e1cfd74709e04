#include "exec/tools/mcp/wire/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcp {
namespace {

Message one(std::string_view line) {
    const auto messages = decode(line);
    EXPECT_EQ(messages.size(), 1u);
    return messages.front();
}

bool is_garbage(std::string_view line) {
    return std::holds_alternative<Garbage>(one(line));
}

TEST(McpMessage, DistinguishesTheFourKinds) {
    EXPECT_EQ(one(R"({"jsonrpc":"2.0","id":3,"result":{"a":1}})"), Message(Reply{3, {{"a", 1}}}));
    EXPECT_EQ(one(R"({"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}})"),
              Message(ErrorReply{3, -1, "no"}));
    EXPECT_EQ(one(R"({"jsonrpc":"2.0","id":"x","method":"ping"})"),
              Message(Request{json::value("x"), "ping"}));
    EXPECT_EQ(one(R"({"jsonrpc":"2.0","method":"n","params":{"a":1}})"),
              Message(Notification{"n", {{"a", 1}}}));
}

TEST(McpMessage, WhatIsNoMessageIsGarbage) {
    for (const char* line :
         {"", "hello", "17", "null", "{}", "[]", R"({"id":null,"method":"m"})", R"({"id":1})",
          R"({"id":"1","result":{}})", R"({"id":1,"result":7})", R"({"method":7})",
          R"({"id":{},"method":"m"})", R"({"id":1.5,"result":{}})"})
        EXPECT_TRUE(is_garbage(line)) << line;
    EXPECT_TRUE(is_garbage(std::string(200, '[') + std::string(200, ']')));
}

TEST(McpMessage, ABatchIsItsMessages) {
    const auto batch = decode(R"([{"id":1,"result":{}},{"method":"n"},5])");
    ASSERT_EQ(batch.size(), 3u);
    EXPECT_EQ(batch[0], Message(Reply{1, {}}));
    EXPECT_TRUE(std::holds_alternative<Garbage>(batch[2]));
}

TEST(McpMessage, IsWrittenAsOneLine) {
    const std::string line = request(7, "tools/call", {{"name", "a\nb"}});
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_EQ(base::parse_json(line).value(),
              base::parse_json(
                  R"({"id":7,"method":"tools/call","params":{"name":"a\nb"},"jsonrpc":"2.0"})")
                  .value());
    EXPECT_EQ(base::parse_json(refusal(json::value("s"), kMethodNotFound, "m"))
                  .value()
                  .at("error")
                  .at("code"),
              json::value(kMethodNotFound));
}

}  // namespace
}  // namespace mcp
