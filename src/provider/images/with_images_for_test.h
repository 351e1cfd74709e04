// A request with images, as each codec is tested with it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "provider/provider.h"

namespace provider {

// A result with two images, of which one is shown.
inline Request with_images() {
    ToolAnswer answer{"c1", "two", false};
    answer.media = {{"image/png", "a.png", "d1", 3, 1, 1}, {"image/gif", "b.gif", "d2", 3, 1, 1}};
    return {.model_ref = "a/m",
            .conversation = {AssistantTurn{{domain::ToolUseBlock{"c1", "Look", json::object()},
                                            domain::ToolUseBlock{"c2", "Look", json::object()}}},
                             ToolResultsTurn{{std::move(answer), {"c2", "text", false}}}},
            .images = {{"d1", std::make_shared<const std::string>("QUJD")}}};
}

}  // namespace provider
