// The web search that a provider runs for its model, offered in place of ours.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "provider/http/codec.h"

namespace provider {

// Which API offers it; each has its own name for the tool.
enum class SearchApi { Responses, Codex, Anthropic };

// How often the model may search in one round, where the API takes a bound.
inline constexpr std::int64_t kSearchesPerRound = 5;
// What is recorded of the searches of one round.
inline constexpr std::size_t kSearchQueriesMax = 16;
inline constexpr std::size_t kSearchResultsMax = 32;
inline constexpr std::size_t kSearchCharsMax = 300;  // Of a query, a title, an address.

// The tool as the API takes it.
json::object search_tool(SearchApi api);

// What the provider searched for and found, as far as it says so. The texts come from the web: they
// are bounded, printable and labelled as external evidence.
class SearchRecord {
public:
    // A block of a message or an item of a response. Others than those of a search are ignored.
    void add(const json::value& item);
    void add_query(std::string_view query);
    // {queries, results: [{title, url}], errors, label}; empty when nothing was searched for.
    json::object to_json() const;

private:
    void add_result(const json::value& result);
    json::array queries_, results_, errors_;
};

// `codec` with the provider's own search in place of the tool that says `web_search`. What was
// searched for is in the reply's diagnostics as `native_web_search`. A server that refuses the tool
// is asked again with ours, in the same exchange, and from then on.
std::unique_ptr<Codec> with_web_search(std::unique_ptr<Codec> codec, SearchApi api);

}  // namespace provider
