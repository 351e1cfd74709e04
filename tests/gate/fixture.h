// A gate on a folder of its own, and what must hold of it at any time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/os/asio_loop.h"
#include "base/os/files.h"
#include "exec/gate/document/folder_for_test.h"
#include "exec/gate/gate.h"

namespace gate {

inline const Validator& test_validator() {
    static const auto made = Validator::make({}).value();
    return made;
}

class Bench {
public:
    explicit Bench(store::Store& store, const TestFolder& folder)
        : gate({.store = store,
                .clock = clock,
                .committer = events::Committer({store, loop, clock, ids, feed}),
                .validator = [] { return &test_validator(); },
                .folder = folder.path("gate"),
                .default_agent = {"nobody"}}),
          store_(store) {}

    std::optional<domain::GateDocument> row(const std::string& id) {
        std::optional<domain::GateDocument> found;
        EXPECT_TRUE(store_.read([&](store::Tx& tx) -> base::Status {
            found = TRY(tx.gate_document(id));
            return {};
        }));
        return found;
    }

    std::vector<domain::GateDocument> rows(domain::GatePlace place) {
        std::vector<domain::GateDocument> found;
        EXPECT_TRUE(store_.read([&](store::Tx& tx) -> base::Status {
            found = TRY(tx.gate_documents(place, 1000, {}));
            return {};
        }));
        return found;
    }

    std::vector<std::string> events(const std::string& agent) {
        std::vector<std::string> kinds;
        EXPECT_TRUE(store_.read([&](store::Tx& tx) -> base::Status {
            for (const auto& event : TRY(tx.events({agent}, {.limit = 1000})))
                kinds.push_back(event.kind);
            return {};
        }));
        return kinds;
    }

    // The places that have a folder of this name.
    std::vector<domain::GatePlace> places(const std::string& id) const {
        std::vector<domain::GatePlace> list;
        for (const auto place :
             {domain::GatePlace::Outbox, domain::GatePlace::Inbound, domain::GatePlace::Quarantine})
            if (std::filesystem::exists(gate.place(place, id))) list.push_back(place);
        return list;
    }

    base::SystemClock clock;
    base::RandomIds ids{clock, 1};
    base::AsioLoop loop;
    events::Feed feed;
    Gate gate;

private:
    store::Store& store_;
};

}  // namespace gate
