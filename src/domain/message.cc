#include "domain/message.h"

namespace domain {

std::string readable(const Body& body) {
    if (const auto* text = std::get_if<TextBody>(&body)) return text->text;
    if (const auto* brief = std::get_if<BriefBody>(&body))
        return brief->title ? *brief->title + "\n\n" + brief->text : brief->text;
    return base::pretty_json(std::get<JsonBody>(body).value);
}

}  // namespace domain
