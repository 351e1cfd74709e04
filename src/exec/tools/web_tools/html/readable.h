// A page as text that people and models read. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "exec/tools/web_tools/url.h"

namespace web_tools {

// The visible text of a page in its order: headings, lists, tables and preformatted text keep their
// form, links their address. Scripts, style sheets and what the page hides are left out: hidden
// text is a way to instruct a reader unseen. A page beyond the parser's bounds loses its tags only.
std::string readable_text(std::string_view html, const Url& from);

// UTF-8 from the bytes of a page: by its byte order mark, by the `charset` of its content type or,
// in a page, by that of its <meta>. Unknown ones count as UTF-8; what is invalid is replaced.
std::string text_of(std::string_view bytes, std::string_view content_type);

// Whether a body of this type is text.
bool is_text(std::string_view content_type, std::string_view body);
bool is_html(std::string_view content_type, std::string_view body);

}  // namespace web_tools
