// Templates of SqlTx, for the files that define its operations.
#pragma once

#include <algorithm>
#include <limits>

#include "store/sql/sql_tx.h"

namespace sql {

using base::ErrorCode;
using base::fail;
using domain::AgentId;
using domain::MessageId;
using domain::RunId;

// A limit the engines agree on: none of them may read a negative one as "no limit".
inline std::int64_t bounded(std::int64_t limit) {
    return std::max<std::int64_t>(limit, 0);
}

inline std::int64_t upper_bound(const store::Page& page) {
    return page.before_seq > 0 ? page.before_seq : std::numeric_limits<std::int64_t>::max();
}

// The names of records in body_uses.
inline std::string message_owner(const MessageId& id) {
    return "message/" + id.value;
}
inline std::string frame_owner(const RunId& id) {
    return "frame/" + id.value;
}
inline std::string call_owner(std::string_view call_id) {
    return fmt::format("call/{}", call_id);
}
inline std::string entry_owner(std::int64_t seq) {
    return fmt::format("transcript/{}", seq);
}

// Lists without a page ask for one row more than they may return.
template <class T>
Result<std::vector<T>> whole(Result<std::vector<T>> list) {
    if (list && std::ssize(*list) > kListRowsMax)
        return fail(ErrorCode::Refused, "a list has more than {} rows; page through it instead",
                    kListRowsMax);
    return list;
}

// Whether a record has references is visible in its bytes; most have none.
template <class T>
Result<T> SqlTx::restored(std::string_view text) {
    if (!text.contains(kBodyMark)) return decode<T>(text);
    auto value = TRY(decode<json::value>(text));
    TRY(restore(value));
    auto record = base::from_json<T>(value);
    if (!record)
        return fail(ErrorCode::Corrupt, "a stored record cannot be read: {}",
                    record.error().message);
    return record;
}

template <class T>
Result<std::vector<T>> SqlTx::records(std::string_view statement, Params params) {
    std::vector<T> list;
    if constexpr (kSharesBodies<T>) {
        std::vector<std::string> texts;  // A visitor must not use the connection.
        TRY(connection_.query(statement, params, [&](const Row& row) -> Status {
            texts.emplace_back(row.text(0));
            return {};
        }));
        for (const auto& text : texts) list.push_back(TRY(restored<T>(text)));
    } else {
        TRY(connection_.query(statement, params, [&](const Row& row) -> Status {
            list.push_back(TRY(decode<T>(row.text(0))));
            return {};
        }));
    }
    return list;
}

template <class T>
Result<std::optional<T>> SqlTx::record(std::string_view statement, Params params) {
    auto list = TRY(records<T>(statement, params));
    if (list.empty()) return std::nullopt;
    return std::move(list.front());
}

template <class T>
Result<std::vector<store::Numbered<T>>> SqlTx::page_of(std::string_view ascending,
                                                       std::string_view descending,
                                                       const AgentId& agent,
                                                       const store::Page& page) {
    std::vector<store::Numbered<T>> list;
    std::vector<store::Numbered<std::string>> texts;
    TRY(connection_.query(page.newest_first ? descending : ascending,
                          {agent, page.after_seq, upper_bound(page), bounded(page.limit)},
                          [&](const Row& row) -> Status {
                              if constexpr (kSharesBodies<T>)
                                  texts.push_back({row.integer(0), std::string(row.text(1))});
                              else
                                  list.push_back({row.integer(0), TRY(decode<T>(row.text(1)))});
                              return {};
                          }));
    for (const auto& [seq, text] : texts) list.push_back({seq, TRY(restored<T>(text))});
    return list;
}

}  // namespace sql
