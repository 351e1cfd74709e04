// Any bytes are a page, an answer of a search provider or a URL: what becomes of them is text that
// cannot leave its mark, and results that lead to pages.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "exec/results/external_content.h"
#include "exec/tools/web_tools/html/readable.h"
#include "exec/tools/web_tools/search/hits.h"

namespace {

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
}

void read_page(std::string_view bytes) {
    const auto from = web_tools::parse_url("https://example.com/a/b").value();
    for (const char* type : {"text/html", "text/html; charset=shift_jis", ""}) {
        const std::string text = web_tools::text_of(bytes, type);
        CHECK(base::is_utf8(text), "bytes become text");
        const std::string shown =
            results::external_content(web_tools::readable_text(text, from), from.text);
        CHECK(base::is_utf8(shown), "a page is shown as text");
        CHECK(count(shown, "<external_content") == 1 && count(shown, "</external_content") == 1,
              "a page does not leave its mark");
    }
}

void read_answer(const std::string& body) {
    for (const auto kind : {config::WebSearchKind::Brave, config::WebSearchKind::Firecrawl,
                            config::WebSearchKind::Command, config::WebSearchKind::DuckDuckGo}) {
        const auto hits = web_tools::read_hits({.name = "p", .kind = kind}, body);
        if (!hits) continue;
        for (const auto& hit : *hits) {
            CHECK(web_tools::parse_url(hit.url).has_value(), "a result leads to a page");
            CHECK(!hit.title.contains('\n') && base::is_utf8(hit.title), "a title is one line");
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    read_page(bytes);
    read_answer(std::string(bytes));
    if (const auto url = web_tools::parse_url(bytes)) {
        CHECK(!url->host.empty() && url->port > 0, "a URL names a host");
        CHECK(!url->text.contains('\n'), "a URL is one line");
    }
    return 0;
}
