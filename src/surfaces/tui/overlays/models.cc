// The models that the agent may be asked with; the one that it has is marked.
#include <algorithm>

#include "base/text.h"
#include "surfaces/show/words.h"
#include "surfaces/tui/overlays/list.h"
#include "surfaces/tui/overlays/transcript_text.h"
#include "surfaces/tui/screen/cells.h"

namespace tui {
namespace {

constexpr std::string_view kDefault = "default";

struct Known {
    json::object state;  // AgentModelState
    std::vector<service::ModelAvailability> models;
};

class ModelsOverlay final : public ListOverlay {
public:
    explicit ModelsOverlay(Desk& desk) : ListOverlay(desk, "Model") { picker().allow_filter(true); }

    std::string hint() const override {
        return "↑↓ choose · type to filter · Enter sets it from the next turn on";
    }

    void load() override {
        call(
            [&service = desk_.service, models = desk_.models,
             agent = desk_.agent]() -> base::Result<Known> {
                Known known{.state = TRY(service.model(agent)), .models = {}};
                if (models) known.models = TRY(models());
                return known;
            },
            [this](base::Result<Known> known) {
                if (!good(known)) return set_rows({});
                known_ = std::move(*known);
                show();
            });
    }

protected:
    std::vector<show::Line> detail(const std::string& id, std::size_t columns) override {
        if (id == kDefault)
            return text_lines(
                fmt::format("The runtime's default, {}, for all agents without a model of their "
                            "own. It is set with holon config set model.default.",
                            text_at("runtime_default_model")),
                columns);
        const auto found = std::ranges::find(known_.models, id, &service::ModelAvailability::model);
        if (found == known_.models.end())
            return text_lines("It is not in the catalogue.", columns, show::Face::Dim);
        auto lines = text_lines(
            fmt::format("{}\nprovider {}", found->display_name, found->provider), columns);
        if (const auto context = base::int_at(found->policy, "context_window_tokens"); context > 0)
            add(lines, fmt::format("context {} tokens", show::count_text(context)), columns);
        if (found->unavailable_reason)
            std::ranges::move(text_lines(*found->unavailable_reason, columns, show::Face::Warning),
                              std::back_inserter(lines));
        return lines;
    }
    bool on_row_key(const Key& key, const std::string& id) override {
        if (key.name != KeyName::Enter) return false;
        desk_.close();  // The session holds the overlay until the key is handled.
        desk_.set_model(id);
        return true;
    }

private:
    std::string text_at(std::string_view name) const { return base::string_at(known_.state, name); }
    static void add(std::vector<show::Line>& lines, const std::string& text, std::size_t columns) {
        std::ranges::move(text_lines(text, columns), std::back_inserter(lines));
    }

    // The default first, then what can be asked, then the rest with what is missing.
    void show() {
        const bool has_own = text_at("source") == "agent_override";
        const std::string own = has_own ? text_at("effective_model") : "";
        std::vector<Row> rows;
        const auto row = [&](const std::string& id, const std::string& text, bool is_current,
                             std::string group) {
            show::Line line = faced(is_current ? "● " : "  ", show::Face::Good);
            append(line, plain(base::printable(text)));
            if (is_current) append(line, dim("  now"));
            rows.push_back({.id = id, .line = std::move(line), .group = std::move(group)});
        };
        row(std::string(kDefault), "default (" + text_at("runtime_default_model") + ")", !has_own,
            "");
        const auto is_own = [&](const auto& model) { return model.model == own; };
        if (has_own && std::ranges::none_of(known_.models, is_own))
            row(own, own, true, "available");
        for (const bool available : {true, false})
            for (const auto& model : known_.models)
                if (model.available == available)
                    row(model.model, model.model, model.model == own,
                        available ? "available" : "not available");
        set_rows(std::move(rows));
    }

    Known known_;
};

}  // namespace

std::shared_ptr<Overlay> model_overlay(Desk& desk) {
    return std::make_shared<ModelsOverlay>(desk);
}

}  // namespace tui
