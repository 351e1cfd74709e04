#include "provider/http/search/web_search.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "base/log/log.h"
#include "base/plain_text.h"
#include "provider/wire/received_json.h"

namespace provider {
namespace {

constexpr const char* kMember = "native_web_search";
constexpr std::size_t kRefusalBytesMax = 64 * 1024;
constexpr std::size_t kInputBytesMax = 16 * 1024;  // Of a streamed query.

std::string_view type_of(SearchApi api) {
    switch (api) {
        case SearchApi::Responses:
            return "web_search_preview";
        case SearchApi::Codex:
            return "web_search";
        case SearchApi::Anthropic:
            return "web_search_20250305";
    }
    return "";
}

const json::array* array_at(const json::value& value, std::string_view name) {
    const auto* found = base::find(value, name);
    return found ? found->if_array() : nullptr;
}

void add_once(json::array& list, json::value entry, std::size_t max) {
    if (list.size() < max && std::ranges::find(list, entry) == list.end())
        list.push_back(std::move(entry));
}

std::string clean(std::string_view text) {
    return base::plain_text(text, kSearchCharsMax);
}

// Shared by the exchanges of a codec.
struct Core {
    std::unique_ptr<Codec> codec;
    SearchApi api;
    bool is_refused{false};
};

json::object diagnostics_of(const Core& core) {
    json::object out{{"kind", core.api == SearchApi::Anthropic ? "anthropic" : "open_ai"},
                     {"advertised_tool_type", type_of(core.api)},
                     {"lowered", !core.is_refused}};
    if (core.is_refused) out["fallback_reason"] = "refused_by_provider";
    return out;
}

// Adds what was searched for to an answer.
void note(Outcome& outcome, const Core& core, const SearchRecord& record) {
    auto found = record.to_json();
    if (!outcome || found.empty()) return;
    json::object all = diagnostics_of(core);
    for (auto& member : found) all[member.key()] = std::move(member.value());
    outcome->request_diagnostics[kMember] = std::move(all);
}

// Watches the events of a stream for searches, and passes them on.
class SearchEvents final : public EventReader {
public:
    SearchEvents(std::shared_ptr<Core> core, EventReader& inner)
        : core_(std::move(core)), inner_(inner) {}

    Step take(std::string_view data) override {
        // Most events are pieces of text: they are read once, by the codec.
        if (data.contains("web_search") || data.contains("url_citation") || !inputs_.empty())
            watch(data);
        Step step = inner_.take(data);
        if (step.end) note(*step.end, *core_, record_);
        return step;
    }

    Outcome stop(const HttpResponse& head) override {
        Outcome outcome = inner_.stop(head);
        note(outcome, *core_, record_);
        return outcome;
    }

private:
    void watch(std::string_view data) {
        const auto event = parse_received_json(data);
        if (!event) return;
        const auto index = base::int_at(*event, "index", -1);
        if (const auto* block = base::find(*event, "content_block")) {
            record_.add(*block);
            if (base::string_at(*block, "type") == "server_tool_use") inputs_[index];
        }
        if (const auto* item = base::find(*event, "item"))
            if (base::string_at(*event, "type") == "response.output_item.done") record_.add(*item);
        if (const auto* response = base::find(*event, "response"))
            if (const auto* output = array_at(*response, "output"))
                for (const auto& item : *output) record_.add(item);
        watch_input(*event, index);
    }

    // The query of a search that Anthropic streams comes in pieces of JSON.
    void watch_input(const json::value& event, std::int64_t index) {
        const auto found = inputs_.find(index);
        if (found == inputs_.end()) return;
        if (const auto* delta = base::find(event, "delta")) {
            const auto piece = base::string_at(*delta, "partial_json");
            if (found->second.size() + piece.size() <= kInputBytesMax) found->second += piece;
        }
        if (base::string_at(event, "type") != "content_block_stop") return;
        if (const auto input = parse_received_json(found->second))
            record_.add_query(base::string_at(*input, "query"));
        inputs_.erase(found);
    }

    std::shared_ptr<Core> core_;
    EventReader& inner_;
    SearchRecord record_;
    std::map<std::int64_t, std::string> inputs_;  // Of searches, by their block.
};

EncodedRequest searching(std::shared_ptr<Core> core, std::shared_ptr<const Request> request,
                         EncodedRequest encoded);

class SearchDecoder final : public Decoder {
public:
    SearchDecoder(std::shared_ptr<Core> core, std::shared_ptr<const Request> request,
                  std::unique_ptr<Decoder> inner)
        : core_(std::move(core)), request_(std::move(request)), inner_(std::move(inner)) {
        if (auto* events = inner_->events()) events_.emplace(core_, *events);
    }

    Outcome decode(const HttpResponse& response, base::Time now) override {
        Outcome outcome = inner_->decode(response, now);
        if (!outcome) {
            const bool may_refuse = response.status >= 400 && response.status <= 499;
            is_refused_ =
                may_refuse &&
                response.body.substr(0, kRefusalBytesMax).contains(std::string_view("web_search"));
            return outcome;
        }
        if (!response.body.contains("web_search")) return outcome;
        SearchRecord record;
        if (const auto document = parse_received_json(response.body))
            for (const char* list : {"content", "output"})
                if (const auto* items = array_at(*document, list))
                    for (const auto& item : *items) record.add(item);
        note(outcome, *core_, record);
        return outcome;
    }

    EventReader* events() override { return events_ ? &*events_ : nullptr; }

    std::optional<EncodedRequest> replacement(const Outcome& outcome) override {
        if (auto instead = inner_->replacement(outcome))
            return searching(core_, request_, std::move(*instead));
        if (outcome || !is_refused_ || core_->is_refused) return std::nullopt;
        core_->is_refused = true;
        base::log_warn("{} refused the search of its model: WebSearch is offered instead ({})",
                       request_->model_ref, outcome.error().message);
        auto again = core_->codec->encode(*request_);
        if (!again) return std::nullopt;
        return searching(core_, request_, std::move(*again));
    }

private:
    std::shared_ptr<Core> core_;
    std::shared_ptr<const Request> request_;
    std::unique_ptr<Decoder> inner_;
    std::optional<SearchEvents> events_;
    bool is_refused_{false};
};

// Puts the provider's tool where ours was declared. False when ours is not offered.
bool replace_tool(json::object& body, const Request& request, SearchApi api) {
    const auto ours = std::ranges::find_if(request.tools, &ToolDeclaration::web_search);
    auto* tools = body.if_contains("tools");
    if (ours == request.tools.end() || !tools || !tools->is_array()) return false;
    for (auto& tool : tools->get_array())
        if (base::string_at(tool, "name") == ours->name) {
            tool = search_tool(api);
            return true;
        }
    return false;
}

EncodedRequest searching(std::shared_ptr<Core> core, std::shared_ptr<const Request> request,
                         EncodedRequest encoded) {
    const bool is_offered = core->is_refused || replace_tool(encoded.body, *request, core->api);
    if (is_offered) encoded.request_diagnostics[kMember] = diagnostics_of(*core);
    if (!is_offered || core->is_refused) return encoded;
    encoded.decoder = std::make_unique<SearchDecoder>(std::move(core), std::move(request),
                                                      std::move(encoded.decoder));
    return encoded;
}

class SearchCodec final : public Codec {
public:
    SearchCodec(std::unique_ptr<Codec> codec, SearchApi api)
        : core_(std::make_shared<Core>(std::move(codec), api)) {}

    std::expected<EncodedRequest, Failure> encode(const Request& request) override {
        auto encoded = core_->codec->encode(request);
        if (!encoded || std::ranges::none_of(request.tools, &ToolDeclaration::web_search))
            return encoded;
        return searching(core_, std::make_shared<const Request>(request), std::move(*encoded));
    }

private:
    std::shared_ptr<Core> core_;  // Shared: an exchange may outlive its codec.
};

}  // namespace

json::object search_tool(SearchApi api) {
    json::object tool{{"type", type_of(api)}};
    if (api != SearchApi::Anthropic) return tool;
    tool["name"] = "web_search";
    tool["max_uses"] = kSearchesPerRound;
    return tool;
}

void SearchRecord::add_query(std::string_view query) {
    if (auto text = clean(query); !text.empty())
        add_once(queries_, json::string(text), kSearchQueriesMax);
}

void SearchRecord::add_result(const json::value& result) {
    const std::string url = clean(base::string_at(result, "url"));
    if (!url.empty())
        add_once(results_,
                 json::object{{"title", clean(base::string_at(result, "title"))}, {"url", url}},
                 kSearchResultsMax);
}

void SearchRecord::add(const json::value& item) {
    const std::string type = base::string_at(item, "type");
    if (type == "server_tool_use" && base::string_at(item, "name") == "web_search") {
        if (const auto* input = base::find(item, "input"))
            add_query(base::string_at(*input, "query"));
    } else if (type == "web_search_tool_result") {
        if (const auto* found = array_at(item, "content"))
            for (const auto& result : *found) add_result(result);
        else if (const auto* error = base::find(item, "content"))
            add_once(errors_, json::string(clean(base::string_at(*error, "error_code"))),
                     kSearchQueriesMax);
    } else if (type == "web_search_call") {
        if (const auto* action = base::find(item, "action"))
            add_query(base::string_at(*action, "query"));
    } else if (type == "message") {
        if (const auto* parts = array_at(item, "content"))
            for (const auto& part : *parts)
                if (const auto* notes = array_at(part, "annotations"))
                    for (const auto& citation : *notes)
                        if (base::string_at(citation, "type") == "url_citation")
                            add_result(citation);
    }
}

json::object SearchRecord::to_json() const {
    if (queries_.empty() && results_.empty() && errors_.empty()) return {};
    json::object out{{"label", "external_evidence"}, {"queries", queries_}, {"results", results_}};
    if (!errors_.empty()) out["errors"] = errors_;
    return out;
}

std::unique_ptr<Codec> with_web_search(std::unique_ptr<Codec> codec, SearchApi api) {
    return std::make_unique<SearchCodec>(std::move(codec), api);
}

}  // namespace provider
