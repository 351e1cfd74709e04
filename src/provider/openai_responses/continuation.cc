#include "provider/openai_responses/continuation.h"

#include <algorithm>

#include "base/hash.h"

namespace provider::openai_responses {

std::optional<Scope> scope_of(const Request& request) {
    const auto& cache = request.frame.cache;
    if (!cache) return std::nullopt;
    return Scope{cache->agent_id, cache->prompt_cache_key};
}

std::string digest(const json::value& value) {
    return base::sha256_hex(base::canonical_json(value));
}

std::vector<std::string> digests(const json::array& items) {
    std::vector<std::string> out;
    out.reserve(items.size());
    for (const auto& item : items) out.push_back(digest(item));
    return out;
}

Plan full_request(std::string_view reason, std::size_t items) {
    return {.incremental_continuation = {{"status", "fallback_full_request"},
                                         {"fallback_reason", reason},
                                         {"full_input_items", items}}};
}

Plan plan_request(const std::optional<Snapshot>& previous, const Snapshot& now) {
    if (!previous) return full_request("not_applicable_initial_request", now.items.size());
    Plan full = full_request("conversation_not_strict_append_only", now.items.size());
    auto& said = full.incremental_continuation;
    said["expected_prefix_items"] = previous->items.size();
    said["request_shape_hash"] = now.shape;
    if (previous->shape != now.shape) {
        said["fallback_reason"] = "request_shape_changed";
        return full;
    }
    if (previous->compression_epoch != now.compression_epoch) {
        said["fallback_reason"] = "conversation_compacted";
        return full;
    }
    const std::size_t common = static_cast<std::size_t>(
        std::ranges::mismatch(previous->items, now.items).in1 - previous->items.begin());
    if (common < previous->items.size() || now.items.size() == common) {
        said["first_mismatch_index"] = common;
        said["mismatch_kind"] =
            common == now.items.size() ? "length_mismatch" : "semantic_mismatch";
        return full;
    }
    return {.first_new = common,
            .previous_response_id = previous->response_id,
            .incremental_continuation = {{"status", "hit"},
                                         {"incremental_input_items", now.items.size() - common},
                                         {"full_input_items", now.items.size()},
                                         {"expected_prefix_items", common},
                                         {"request_shape_hash", now.shape}}};
}

std::optional<Snapshot> Continuations::take(const Scope& scope) {
    const auto found = std::ranges::find(snapshots_, scope, &std::pair<Scope, Snapshot>::first);
    if (found == snapshots_.end()) return std::nullopt;
    Snapshot snapshot = std::move(found->second);
    snapshots_.erase(found);
    return snapshot;
}

void Continuations::keep(const Scope& scope, Snapshot snapshot) {
    take(scope);
    snapshots_.emplace_back(scope, std::move(snapshot));
    if (snapshots_.size() > kScopesMax) snapshots_.pop_front();
}

}  // namespace provider::openai_responses
