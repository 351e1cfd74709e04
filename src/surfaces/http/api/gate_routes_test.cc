// The gate over HTTP.
#include <gmock/gmock.h>

#include "tests/http/fake_gate.h"
#include "tests/http/fixture.h"

namespace test_http {
namespace {

using testing::ElementsAre;

class GateRoutes : public ServerTest {
protected:
    void SetUp() override {
        gate_ = &gate;
        start({.token = "right", .viewer_token = "viewer"});
    }
    int status_of(const std::string& bytes) { return local().ask(bytes).status; }

    FakeGate gate;
};

TEST_F(GateRoutes, RequestsReachTheGate) {
    const auto list = local().ask(get("/control/gate/documents?place=quarantine&limit=7"));
    EXPECT_EQ(list.status, 200);
    EXPECT_EQ(base::string_at(list.json().at(0), "document_id"), "TS-1");
    EXPECT_EQ(status_of(get("/control/gate/documents")), 200);
    const auto shown = local().ask(get("/control/gate/documents/TS-1")).json();
    EXPECT_EQ(base::string_at(shown, "folder"), "/home/gate/quarantine/TS-1");
    EXPECT_EQ(status_of(post("/control/gate/check", R"({"file":"/a/TS-1.md"})")), 200);
    EXPECT_EQ(status_of(post("/control/gate/documents/TS-1/release", R"({"reason":"a dummy"})")),
              200);
    EXPECT_EQ(status_of(post("/control/gate/purge", R"({"older_than_days":30})")), 200);
    EXPECT_THAT(gate.calls(),
                ElementsAre("list quarantine 7", "list all 50", "show TS-1", "check /a/TS-1.md",
                            "release TS-1 a dummy", "purge - 30"));
}

TEST_F(GateRoutes, InvalidRequestsDoNotReachIt) {
    EXPECT_EQ(status_of(get("/control/gate/documents?place=attic")), 400);
    EXPECT_EQ(status_of(get("/control/gate/documents?where=attic")), 400);
    EXPECT_EQ(status_of(post("/control/gate/check", R"({"file":"relative.md"})")), 422);
    EXPECT_EQ(status_of(post("/control/gate/documents/TS-1/release", "{}")), 422);
    EXPECT_EQ(status_of(post("/control/gate/purge", "{}")), 422);
    EXPECT_EQ(status_of(post("/control/gate/purge", R"({"document_id":"a","older_than_days":1})")),
              422);
    EXPECT_EQ(status_of(post("/control/gate/purge", R"({"older_than_days":-1})")), 422);
    EXPECT_TRUE(gate.calls().empty());
    EXPECT_EQ(status_of(get("/control/gate/documents/TS-9")), 404);
    EXPECT_EQ(status_of(post("/control/gate/documents/TS-9/release", R"({"reason":"r"})")), 409);
}

TEST_F(GateRoutes, OnlyTheOperatorMayReadAndAct) {
    const auto with = [](std::string_view method, std::string_view path, std::string_view token,
                         std::string_view body = "") {
        std::vector<std::pair<std::string, std::string>> headers;
        if (!token.empty()) headers.emplace_back("Authorization", fmt::format("Bearer {}", token));
        if (!body.empty()) headers.emplace_back("Content-Type", "application/json");
        return request(method, path, headers, body);
    };
    EXPECT_EQ(tcp().ask(with("GET", "/control/gate/documents", "")).status, 401);
    EXPECT_EQ(tcp().ask(with("GET", "/control/gate/documents", "viewer")).status, 403);
    EXPECT_EQ(tcp()
                  .ask(with("POST", "/control/gate/documents/TS-1/release", "viewer",
                            R"({"reason":"r"})"))
                  .status,
              403);
    EXPECT_TRUE(gate.calls().empty());
    EXPECT_EQ(tcp().ask(with("GET", "/control/gate/documents", "right")).status, 200);
}

class NoGate : public ServerTest {};

TEST_F(NoGate, ARuntimeWithoutOneSaysSo) {
    start();
    EXPECT_EQ(local().ask(get("/control/gate/documents")).status, 501);
}

}  // namespace
}  // namespace test_http
