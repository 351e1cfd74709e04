// What can be completed in the composer. Lists that the runtime has are loaded in the background,
// the first time that they are wanted.
#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "surfaces/tui/compose/prompt_line.h"
#include "surfaces/tui/session/session.h"

namespace tui {
namespace {

// Enough of "/mcp" that nothing else can be meant.
constexpr std::string_view kPromptsWanted = "/mc";

}  // namespace

std::vector<Offer> Session::offer_arguments(const std::string& command, const std::string& typed) {
    std::vector<Offer> offers;
    const auto offer = [&](std::string_view text, std::string note) {
        if (text.starts_with(typed) && offers.size() < kOffersMax)
            offers.push_back({std::string(text), std::move(note)});
    };
    if (command == "/agent")
        for (const auto& id : agent_ids_) offer(id, "");
    if (command == "/model") {
        want_models();
        if (!view_.model.empty()) offer(view_.model, "now");
        offer("default", "the runtime's default");
        for (const auto& model : models_)
            // What follows the provider is what people know.
            if (model.available && model.model != view_.model && model.model.contains(typed) &&
                model.model != typed && offers.size() < kOffersMax)
                offers.push_back({model.model, model.display_name});
    }
    if (is_prompt_word(command)) {
        want_prompts();
        if (const auto* prompt = find_prompt(prompts_, command))
            return argument_offers(*prompt, typed);
    }
    return offers;
}

std::vector<Offer> Session::offer_prompts(const std::string& typed) {
    if (!typed.starts_with(kPromptsWanted)) return {};
    want_prompts();
    return prompt_offers(prompts_, typed);
}

void Session::want_models() {
    const base::Time now = parts_.clock.now();
    if (is_modelling_ || !parts_.models || now - models_at_ < kPromptsKept) return;
    is_modelling_ = true;
    reads_.run(shared_from_this(), parts_.models,
               [this](base::Result<std::vector<service::ModelAvailability>> models) {
                   is_modelling_ = false;
                   models_at_ = parts_.clock.now();
                   if (!models) return;
                   models_ = std::move(*models);
                   composer_.refresh_menu();
               });
}

void Session::want_prompts() {
    const base::Time now = parts_.clock.now();
    if (is_prompting_ || parts_.mcp == nullptr || now - prompts_at_ < kPromptsKept) return;
    is_prompting_ = true;
    slow_.run(
        shared_from_this(), [this] { return parts_.mcp->prompts(); },
        [this](base::Result<std::vector<service::McpPrompt>> prompts) {
            is_prompting_ = false;
            prompts_at_ = parts_.clock.now();
            if (!prompts) return;
            prompts_ = std::move(*prompts);
            composer_.refresh_menu();
        });
}

// Only the folder that is typed is read, not all below it.
std::vector<Offer> Session::offer_files(const std::string& typed) const {
    const auto slash = typed.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
    const std::string begin = slash == std::string::npos ? typed : typed.substr(slash + 1);
    std::vector<Offer> offers;
    std::error_code failed;
    const std::filesystem::path root =
        view_.workspace.empty() ? parts_.cwd : std::filesystem::path(view_.workspace);
    std::filesystem::directory_iterator entries(root / folder, failed);
    for (;
         !failed && entries != std::filesystem::directory_iterator() && offers.size() < kOffersMax;
         entries.increment(failed)) {
        const std::string name = entries->path().filename();
        if (!name.starts_with(begin) || (begin.empty() && name.starts_with('.'))) continue;
        const bool is_folder = entries->is_directory(failed);
        if (base::is_utf8(name) && base::printable(name) == name)
            offers.push_back({folder + name + (is_folder ? "/" : ""), ""});
    }
    std::ranges::sort(offers, {}, &Offer::text);
    return offers;
}

}  // namespace tui
