#include <set>

#include "base/text.h"
#include "provider/images/shown.h"
#include "provider/openai_responses/patch_grammar.h"
#include "provider/openai_responses/wire.h"
#include "provider/wire/outgoing.h"

namespace provider::openai_responses {
namespace {

constexpr std::string_view kPath = "/responses";

json::object message(std::string_view role, json::array content) {
    json::object out{{"type", "message"}, {"role", role}};
    out["content"] = std::move(content);
    return out;
}

json::object text_part(std::string_view type, std::string_view text) {
    return {{"type", type}, {"text", wire_text(text)}};
}

// The patch in a call's input; null when there is none.
const json::string* patch_text(const json::value& input) {
    if (input.is_string()) return &input.get_string();
    const auto* patch = base::find(input, "patch");
    return patch ? patch->if_string() : nullptr;
}

// Writes items, and remembers which calls went out as free text: their results follow them.
class Items {
public:
    Items(const Request& request, PatchForm form) : request_(request) {
        if (form == PatchForm::Function) return;
        for (const auto& tool : request.tools)
            if (tool.freeform_patch) freeform_tools_.insert(tool.name);
    }

    void add(const UserTurn& turn) {
        json::array content;
        for (const auto& block : turn.blocks)
            if (!is_blank(block.text)) content.push_back(text_part("input_text", block.text));
        if (!content.empty()) items_.push_back(message("user", std::move(content)));
    }

    void add(const AssistantTurn& turn) {
        json::array texts;
        const auto flush = [&] {
            if (!texts.empty()) items_.push_back(message("assistant", std::exchange(texts, {})));
        };
        for (const auto& block : turn.blocks) {
            if (const auto* said = std::get_if<domain::TextBlock>(&block)) {
                if (!is_blank(said->text)) texts.push_back(text_part("output_text", said->text));
            } else if (const auto* call = std::get_if<domain::ToolUseBlock>(&block)) {
                flush();
                items_.push_back(encode_call(*call));
            }
        }
        flush();
    }

    void add(const ToolResultsTurn& turn) {
        for (const auto& result : turn.results) {
            const bool freeform = freeform_calls_.contains(result.tool_use_id);
            json::object item{
                {"type", freeform ? "custom_tool_call_output" : "function_call_output"},
                {"call_id", result.tool_use_id}};
            item["output"] = output_of(result);
            items_.push_back(std::move(item));
        }
    }

    json::array take() { return std::move(items_); }

private:
    // Text alone, or parts where there are images.
    json::value output_of(const ToolAnswer& result) const {
        const auto images = shown_images(request_, result);
        if (images.empty()) return wire_text(result.content);
        json::array parts;
        if (!is_blank(result.content)) parts.push_back(text_part("input_text", result.content));
        for (const auto& image : images)
            parts.push_back(json::object{{"type", "input_image"}, {"image_url", data_uri(image)}});
        return parts;
    }

    json::object encode_call(const domain::ToolUseBlock& call) {
        const auto* patch = patch_text(call.input);
        if (patch && freeform_tools_.contains(call.name)) {
            freeform_calls_.insert(call.id);
            return {{"type", "custom_tool_call"},
                    {"call_id", call.id},
                    {"name", wire_name(call.name)},
                    {"input", base::to_utf8(*patch)}};
        }
        return {{"type", "function_call"},
                {"call_id", call.id},
                {"name", wire_name(call.name)},
                {"arguments", wire_arguments(call.input)}};
    }

    const Request& request_;
    std::set<std::string> freeform_tools_;
    std::set<std::string> freeform_calls_;
    json::array items_;
};

json::object declare_freeform(const ToolDeclaration& tool) {
    return {{"type", "custom"},
            {"name", tool.name},
            {"description", kPatchToolDescription},
            {"format", {{"type", "grammar"}, {"syntax", "lark"}, {"definition", kPatchGrammar}}}};
}

}  // namespace

std::string endpoint_url(std::string_view base_url) {
    while (base_url.ends_with('/')) base_url.remove_suffix(1);
    std::string url(base_url);
    return url.ends_with(kPath) ? url : url.append(kPath);
}

base::Result<json::array> encode_tools(const Tools& tools, PatchForm form, SchemaMode mode) {
    json::array list;
    for (const auto& tool : tools) {
        if (tool.freeform_patch && form == PatchForm::Freeform) {
            list.push_back(declare_freeform(tool));
            continue;
        }
        // The function form without the envelope that Chat Completions has around it.
        auto offered = mode == SchemaMode::Strict ? std::optional(TRY(declare_function(tool, mode)))
                                                  : offer_function(tool);
        if (!offered) continue;
        json::object& declared = *offered;
        json::object entry{{"type", "function"}};
        for (auto& member : declared["function"].get_object())
            entry[member.key()] = std::move(member.value());
        list.push_back(std::move(entry));
    }
    return list;
}

json::array encode_input(const Request& request, PatchForm form) {
    Items items(request, form);
    each_turn(request, [&](const auto& turn) {
        std::visit([&](const auto& held) { items.add(held); }, turn);
    });
    return items.take();
}

json::object encode_common_frame(const Request& request, PatchForm form) {
    json::object body;
    body["model"] = request.model_ref.substr(request.model_ref.find('/') + 1);
    body["instructions"] = join_blocks(request.frame.system_blocks);
    body["tools"] = encode_tools(request.tools, form).value();
    body["tool_choice"] = "auto";
    body["parallel_tool_calls"] = false;
    body["store"] = false;
    if (request.frame.cache) body["prompt_cache_key"] = request.frame.cache->prompt_cache_key;
    return body;
}

json::object encode_frame(const Request& request, const std::optional<std::string>& effort) {
    json::object body = encode_common_frame(request, PatchForm::Function);
    body["max_output_tokens"] = request.max_output_tokens;
    if (effort) body["reasoning"] = json::object{{"effort", *effort}};
    return body;
}

}  // namespace provider::openai_responses
