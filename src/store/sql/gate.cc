#include "store/sql/sql_tx_inl.h"

namespace sql {

using domain::GateDocument;

namespace {
// Documents are numbered over all agents; no agent has this name.
const AgentId kNobody{""};
}  // namespace

Status SqlTx::put_gate_document(const GateDocument& document) {
    const auto text = TRY(encode(document));
    const auto place = base::enum_name(document.place);
    if (TRY(change("UPDATE gate_documents SET place = $2, record = $3 WHERE document_id = $1",
                   {document.document_id, place, text})) > 0)
        return {};
    TRY(
        change("INSERT INTO gate_documents (document_id, seq, place, record) "
               "VALUES ($1, $2, $3, $4)",
               {document.document_id, TRY(next_seq(kNobody, "gate")), place, text}));
    return {};
}

Result<std::optional<GateDocument>> SqlTx::gate_document(const std::string& document_id) {
    return record<GateDocument>("SELECT record FROM gate_documents WHERE document_id = $1",
                                {document_id});
}

Result<std::vector<GateDocument>> SqlTx::gate_documents(std::optional<domain::GatePlace> place,
                                                        std::int64_t limit,
                                                        const std::string& before) {
    const auto end = TRY(
        place_in_list(before, "SELECT seq FROM gate_documents WHERE document_id = $1", {before}));
    if (!place)
        return records<GateDocument>(
            "SELECT record FROM gate_documents WHERE seq < $1 ORDER BY seq DESC LIMIT $2",
            {end, bounded(limit)});
    return records<GateDocument>(
        "SELECT record FROM gate_documents WHERE place = $1 AND seq < $2 ORDER BY seq DESC LIMIT "
        "$3",
        {base::enum_name(*place), end, bounded(limit)});
}

}  // namespace sql
