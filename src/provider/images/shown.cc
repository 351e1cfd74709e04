#include "provider/images/shown.h"

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

// The answers with images among `turns`, behind those in `list`.
template <class Turns, class Answer>
void add_answers(Turns& turns, std::vector<Answer*>& list) {
    for (auto& turn : turns)
        if (auto* results = std::get_if<ToolResultsTurn>(&turn))
            for (auto& answer : results->results)
                if (answer.media && !answer.media->empty()) list.push_back(&answer);
}

}  // namespace

std::vector<const ToolAnswer*> answers_with_media(const Request& request) {
    std::vector<const ToolAnswer*> list;
    add_answers(request.history.list(), list);
    add_answers(request.conversation, list);
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
    if (first == 0) return;
    std::vector<ToolAnswer*> own;
    add_answers(request.history.own(), own);
    add_answers(request.conversation, own);
    for (std::size_t at = 0; at < first; ++at) own[at]->media.reset();
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
