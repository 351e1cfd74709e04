// Result documents on their way through the gate.
#pragma once

#include <string_view>

namespace migrations {

inline constexpr std::string_view kGate = R"sql(
CREATE TABLE gate_documents (
    document_id TEXT PRIMARY KEY,
    seq         BIGINT NOT NULL,
    place       TEXT NOT NULL,
    record      TEXT NOT NULL
);
CREATE UNIQUE INDEX gate_documents_order ON gate_documents (seq);
CREATE INDEX gate_documents_in_place ON gate_documents (place, seq);
)sql";

}  // namespace migrations
