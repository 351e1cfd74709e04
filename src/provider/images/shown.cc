#include "provider/images/shown.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace provider {
namespace {

struct Sum {
    std::int64_t count{0};
    std::int64_t bytes{0};

    void add(const ToolAnswer& answer, std::int64_t sign) {
        for (const auto& image : *answer.media) {
            count += sign;
            bytes += sign * image.bytes;
        }
    }
    bool is_above(std::int64_t part) const {
        return count > kRequestImagesMax / part || bytes > kRequestImageBytesMax / part;
    }
};

bool has_media(const ToolAnswer& answer) {
    return answer.media && !answer.media->empty();
}

bool has_media(const ConversationTurn& turn) {
    const auto* results = std::get_if<ToolResultsTurn>(&turn);
    return results && std::ranges::any_of(results->results,
                                          [](const auto& answer) { return has_media(answer); });
}

// Adds the answers of `turn` with images behind those in `list`.
void add_answers(const ConversationTurn& turn, std::vector<const ToolAnswer*>& list) {
    if (const auto* results = std::get_if<ToolResultsTurn>(&turn))
        for (const auto& answer : results->results)
            if (has_media(answer)) list.push_back(&answer);
}

// Takes the images from the first answers of `turn` that have some, as long as `left` is not 0.
void drop_media(ConversationTurn& turn, std::size_t& left) {
    if (auto* results = std::get_if<ToolResultsTurn>(&turn))
        for (auto& answer : results->results)
            if (left > 0 && has_media(answer)) {
                answer.media.reset();
                --left;
            }
}

}  // namespace

std::vector<const ToolAnswer*> answers_with_media(const Request& request) {
    std::vector<const ToolAnswer*> list;
    for (const auto& turn : request.history.turns()) add_answers(*turn, list);
    for (const auto& turn : request.conversation) add_answers(turn, list);
    return list;
}

void bound_media(Request& request) {
    const auto answers = answers_with_media(request);
    std::size_t first = 0;  // That keeps its images.
    Sum sum;
    for (std::size_t at = 0; at < answers.size(); ++at) {
        sum.add(*answers[at], 1);
        if (!sum.is_above(1)) continue;
        while (first < at && sum.is_above(2)) sum.add(*answers[first++], -1);
        if (sum.is_above(1)) sum.add(*answers[first++], -1);  // One answer alone is too much.
    }
    for (std::size_t at = 0; at < request.history.turns().size() && first > 0; ++at) {
        if (!has_media(*request.history.turns()[at])) continue;
        auto turn = *request.history.turns()[at];
        drop_media(turn, first);
        request.history.replace(at, std::move(turn));
    }
    for (auto& turn : request.conversation) drop_media(turn, first);
}

std::vector<ShownImage> shown_images(const Request& request, const ToolAnswer& answer) {
    std::vector<ShownImage> list;
    if (!answer.media) return list;
    for (const auto& image : *answer.media)
        if (const auto found = request.images.find(image.sha256); found != request.images.end())
            list.push_back({image.mime_type, *found->second});
    return list;
}

std::string data_uri(const ShownImage& image) {
    return fmt::format("data:{};base64,{}", image.mime_type, image.base64);
}

}  // namespace provider
