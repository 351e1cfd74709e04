#include "store/sql/bodies.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "store/sql/sql_tx_inl.h"

namespace sql {
namespace {

constexpr std::size_t kHashChars = 64;

std::string hash_of(std::string_view agent, std::string_view text) {
    base::Sha256 digest;
    digest.add(agent);
    digest.add(std::string_view("\0", 1));
    digest.add(text);
    return digest.finish_hex();
}

bool looks_like_reference(std::string_view text) {
    return text.starts_with(kBodyMark) || text.starts_with(kJsonBodyMark);
}

// Returns its digest.
std::string add_body(std::string_view agent, std::string_view text, std::vector<Body>& bodies) {
    std::string hash = hash_of(agent, text);
    if (std::ranges::find(bodies, hash, &Body::hash) == bodies.end()) {
        bodies.push_back({hash, {}});
        base::append_json_string(bodies.back().text, text);
    }
    return hash;
}

void collect(std::string_view agent, json::value& value, std::size_t bytes_min,
             std::vector<Body>& bodies) {
    if (auto* object = value.if_object()) {
        for (auto& member : *object) collect(agent, member.value(), bytes_min, bodies);
    } else if (auto* array = value.if_array()) {
        for (auto& element : *array) collect(agent, element, bytes_min, bodies);
    } else if (auto* text = value.if_string()) {
        const std::string_view view(text->data(), text->size());
        if (view.size() < bytes_min && !looks_like_reference(view)) return;
        value = std::string(kBodyMark) + add_body(agent, view, bodies);
    }
}

void collect_references(const json::value& value, std::set<std::string>& hashes) {
    if (const auto* object = value.if_object()) {
        for (const auto& member : *object) collect_references(member.value(), hashes);
    } else if (const auto* array = value.if_array()) {
        for (const auto& element : *array) collect_references(element, hashes);
    } else if (const auto* text = value.if_string()) {
        if (const auto hash = body_hash({text->data(), text->size()}); !hash.empty())
            hashes.emplace(hash);
    }
}

base::Result<Shared> encoded(Shared shared, const json::value& record) {
    for (const auto& body : shared.bodies) TRY(check_text(body.text));
    shared.text = TRY(encode(record));
    return shared;
}

using BodyTexts = std::map<std::string, std::string, std::less<>>;

Status put_back(json::value& value, const BodyTexts& bodies) {
    if (auto* object = value.if_object()) {
        for (auto& member : *object) TRY(put_back(member.value(), bodies));
    } else if (auto* array = value.if_array()) {
        for (auto& element : *array) TRY(put_back(element, bodies));
    } else if (const auto* text = value.if_string()) {
        const std::string_view reference(text->data(), text->size());
        const auto hash = body_hash(reference);
        if (hash.empty()) return {};
        const auto& body = bodies.find(hash)->second;
        if (reference.starts_with(kJsonBodyMark))
            value = TRY(decode<json::value>(body));
        else
            value = body;
    }
    return {};
}

}  // namespace

std::string_view body_hash(std::string_view text) {
    static_assert(kBodyMark.size() == kJsonBodyMark.size());
    if (!looks_like_reference(text)) return {};
    text.remove_prefix(kBodyMark.size());
    const bool is_hash = text.size() == kHashChars && std::ranges::all_of(text, [](char c) {
                             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                         });
    return is_hash ? text : std::string_view();
}

base::Result<Shared> share(std::string_view agent, json::value record, std::size_t bytes_min) {
    Shared shared;
    collect(agent, record, bytes_min, shared.bodies);
    return encoded(std::move(shared), record);
}

base::Result<Shared> share_frame(std::string_view agent, json::value frame) {
    Shared shared;
    for (auto& member : frame.as_object()) {
        auto& value = member.value();
        if (member.key() == kSharedFrameMember && value.is_array())
            value = std::string(kJsonBodyMark) + add_body(agent, TRY(encode(value)), shared.bodies);
        else
            collect(agent, value, kPromptBodyBytesMin, shared.bodies);
    }
    return encoded(std::move(shared), frame);
}

Status SqlTx::keep_bodies(const AgentId& agent, const std::string& owner,
                          const std::vector<Body>& bodies) {
    std::set<std::string, std::less<>> before;
    TRY(connection_.query("SELECT hash FROM body_uses WHERE agent_id = $1 AND owner = $2",
                          {agent, owner}, [&](const Row& row) -> Status {
                              before.emplace(row.text(0));
                              return {};
                          }));
    for (const auto& body : bodies) {
        if (before.erase(body.hash) > 0) continue;
        TRY(put_body(body));
        TRY(change("INSERT INTO body_uses (agent_id, owner, hash) VALUES ($1, $2, $3)",
                   {agent, owner, body.hash}));
    }
    for (const auto& hash : before) {
        TRY(change("DELETE FROM body_uses WHERE agent_id = $1 AND owner = $2 AND hash = $3",
                   {agent, owner, hash}));
        TRY(
            change("DELETE FROM bodies WHERE hash = $1 "
                   "AND NOT EXISTS (SELECT 1 FROM body_uses u WHERE u.hash = bodies.hash)",
                   {hash}));
    }
    return {};
}

// One that is there is compared, and replaced when it was damaged.
Status SqlTx::put_body(const Body& body) {
    bool is_there = false;
    TRY(connection_.query("SELECT body FROM bodies WHERE hash = $1", {body.hash},
                          [&](const Row& row) -> Status {
                              is_there = row.text(0) == body.text;
                              return {};
                          }));
    if (is_there) return {};
    TRY(
        change("INSERT INTO bodies (hash, body) VALUES ($1, $2) "
               "ON CONFLICT (hash) DO UPDATE SET body = excluded.body",
               {body.hash, body.text}));
    return {};
}

Status SqlTx::restore(json::value& value) {
    std::set<std::string> hashes;
    collect_references(value, hashes);
    std::map<std::string, std::string, std::less<>> bodies;
    for (const auto& hash : hashes) {
        const auto body =
            TRY(record<std::string>("SELECT body FROM bodies WHERE hash = $1", {hash}));
        if (!body)
            return fail(ErrorCode::Corrupt, "a stored record has lost a text of its own ({})",
                        hash);
        bodies.emplace(hash, *body);
    }
    return bodies.empty() ? Status() : put_back(value, bodies);
}

}  // namespace sql
