// A gate with one rejected document, "TS-1", that writes down what it is asked.
#pragma once

#include <mutex>

#include "base/ids.h"
#include "service/gate.h"

namespace test_http {

// Any thread.
class FakeGate final : public service::Gate {
public:
    base::Result<service::GateVerdict> check(const std::string& file) override {
        note("check " + file);
        return service::GateVerdict{.document_sha256 = "ab", .reasons = document().reasons};
    }
    base::Result<service::Listed<domain::GateDocument>> list(
        std::optional<domain::GatePlace> place, const service::ListQuery& query) override {
        note(fmt::format("list {} {}", place ? base::enum_name(*place) : "all", query.limit));
        return service::Listed<domain::GateDocument>{.items = {document()}};
    }
    base::Result<service::GateView> show(const std::string& id) override {
        note("show " + id);
        if (id != "TS-1") return base::fail(base::ErrorCode::NotFound, "there is no document");
        return service::GateView{document(), "/home/gate/quarantine/TS-1"};
    }
    base::Result<domain::GateDocument> release(const std::string& id,
                                               const std::string& reason) override {
        note("release " + id + " " + reason);
        if (id != "TS-1") return base::fail(base::ErrorCode::Conflict, "it is not in quarantine");
        return document();
    }
    base::Result<std::vector<domain::GateDocument>> purge(
        const service::PurgeRequest& request) override {
        note(fmt::format("purge {} {}", request.document_id.value_or("-"),
                         request.older_than_days.value_or(-1)));
        return std::vector{document()};
    }

    static domain::GateDocument document() {
        return {.document_id = "TS-1",
                .agent_id = {"main"},
                .place = domain::GatePlace::Quarantine,
                .outcome = domain::GateOutcome::Reject,
                .reasons = {{.rule = "ignore-instructions", .message = "it gives orders"}}};
    }
    std::vector<std::string> calls() {
        const std::lock_guard lock(mutex_);
        return calls_;
    }

private:
    void note(std::string call) {
        const std::lock_guard lock(mutex_);
        calls_.push_back(std::move(call));
    }
    std::mutex mutex_;
    std::vector<std::string> calls_;
};

}  // namespace test_http
