// The prompts that MCP servers offer. Choosing one writes its command into the composer.
#include <algorithm>

#include "base/text.h"
#include "surfaces/tui/compose/prompt_line.h"
#include "surfaces/tui/overlays/list.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {
namespace {

class PromptsOverlay final : public ListOverlay {
public:
    explicit PromptsOverlay(Desk& desk) : ListOverlay(desk, "Prompts of MCP servers") {
        picker().allow_filter(true);
        set_empty_text("No MCP server offers prompts.");
    }

    std::string hint() const override {
        return "↑↓ choose · type to filter · Enter writes its command";
    }

    void load() override {
        if (desk_.mcp == nullptr) return set_rows({});
        call_slow([mcp = desk_.mcp] { return mcp->prompts(); },
                  [this](base::Result<std::vector<service::McpPrompt>> list) {
                      if (!list) set_empty_text(base::printable(list.error().message));
                      prompts_ = std::move(list).value_or(std::vector<service::McpPrompt>{});
                      show();
                  });
    }

protected:
    std::vector<show::Line> detail(const std::string& id, std::size_t columns) override {
        const auto* prompt = find_prompt(prompts_, id);
        if (prompt == nullptr) return {};
        auto lines = text_lines(prompt->description, columns);
        for (const auto& argument : prompt->arguments) {
            lines.push_back(show::fitted(faced(base::printable(argument.name) + "=" +
                                                   (argument.required ? "  (needed)" : ""),
                                               show::Face::Accent),
                                         columns));
            std::ranges::move(text_lines(argument.description, columns, show::Face::Dim, 2),
                              std::back_inserter(lines));
        }
        return lines;
    }
    bool on_row_key(const Key& key, const std::string& id) override {
        if (key.name != KeyName::Enter) return false;
        desk_.close();  // The session holds the overlay until the key is handled.
        desk_.set_draft(id + " ");
        return true;
    }

private:
    void show() {
        std::vector<Row> rows;
        for (const auto& prompt : prompts_)
            rows.push_back({.id = prompt_word(prompt),
                            .line = faced(base::printable(prompt.name), show::Face::Accent),
                            .group = "MCP server " + base::printable(prompt.server)});
        set_rows(std::move(rows));
    }

    std::vector<service::McpPrompt> prompts_;
};

}  // namespace

std::shared_ptr<Overlay> prompts_overlay(Desk& desk) {
    return std::make_shared<PromptsOverlay>(desk);
}

}  // namespace tui
