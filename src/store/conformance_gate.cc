#include <gmock/gmock.h>

#include "store/conformance.h"

namespace store {

using domain::GateDocument;
using domain::GatePlace;
using testing::ElementsAre;

namespace {

GateDocument document(const std::string& id, GatePlace place) {
    return {.document_id = id, .agent_id = {"ada"}, .place = place, .document_sha256 = "ab"};
}

}  // namespace

TEST_P(StoreConformance, AGateDocumentComesBackWhole) {
    auto one = document("TS-1", GatePlace::Quarantine);
    one.outcome = domain::GateOutcome::Reject;
    one.reasons = {{.rule = "r", .message = "m", .section = "Stdout", .line = 3, .column = 1}};
    one.decided_at = base::from_micros(7);
    one.release_reason = "checked";
    write([&](Tx& tx) { return tx.put_gate_document(one); });
    reopen();
    read([&](Tx& tx) -> Status {
        EXPECT_EQ(TRY(tx.gate_document("TS-1")), one);
        EXPECT_EQ(TRY(tx.gate_document("TS-2")), std::nullopt);
        return {};
    });
}

TEST_P(StoreConformance, GateDocumentsAreListedByPlaceNewestFirst) {
    const auto a = document("TS-a", GatePlace::Outbox);
    const auto b = document("TS-b", GatePlace::Inbound);
    auto c = document("TS-c", GatePlace::Outbox);
    write([&](Tx& tx) -> Status {
        for (const auto& one : {c, b, a}) TRY(tx.put_gate_document(one));
        EXPECT_THAT(TRY(tx.gate_documents(std::nullopt, 9, {})), ElementsAre(a, b, c));
        EXPECT_THAT(TRY(tx.gate_documents(std::nullopt, 2, {})), ElementsAre(a, b));
        EXPECT_THAT(TRY(tx.gate_documents(std::nullopt, 2, b.document_id)), ElementsAre(c));
        EXPECT_THAT(TRY(tx.gate_documents(GatePlace::Outbox, 9, b.document_id)), ElementsAre(c));
        EXPECT_EQ(tx.gate_documents(std::nullopt, 2, "TS-0").error().kind, "cursor_not_found");
        EXPECT_THAT(TRY(tx.gate_documents(GatePlace::Outbox, 9, {})), ElementsAre(a, c));
        c.place = GatePlace::Purged;
        return tx.put_gate_document(c);
    });
    read([&](Tx& tx) -> Status {
        EXPECT_THAT(TRY(tx.gate_documents(GatePlace::Outbox, 9, {})), ElementsAre(a));
        EXPECT_THAT(TRY(tx.gate_documents(GatePlace::Purged, 9, {})), ElementsAre(c));
        EXPECT_THAT(TRY(tx.gate_documents(std::nullopt, 9, {})), ElementsAre(a, b, c));
        return {};
    });
}

TEST_P(StoreConformance, GateDocumentsOutliveTheirAgent) {
    write([](Tx& tx) -> Status {
        TRY(tx.put_gate_document(document("TS-1", GatePlace::Inbound)));
        TRY(tx.erase_agent({"ada"}));
        EXPECT_THAT(TRY(tx.gate_documents(std::nullopt, 9, {})), testing::SizeIs(1));
        return {};
    });
}

}  // namespace store
