// How text of untrusted origin is labelled, so that it stays evidence wherever it is shown. Pure.
#pragma once

#include <string>
#include <string_view>

namespace results {

// `text` in an element that names its source, followed by a notice that it is data. The text cannot
// end the element: its own marks of that name are made harmless, and so are invisible characters.
// `origin` completes "The text above comes from".
std::string external_content(std::string_view text, std::string_view source,
                             std::string_view origin = "the web");

}  // namespace results
