#include "exec/plan/language/check.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "exec/plan/language/parse.h"
#include "exec/plan/language/paths.h"
#include "exec/plan/language/refs.h"
#include "exec/tools/schema_check.h"

namespace plan {
namespace {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
    const std::string near = base::nearest(word, candidates);
    return near.empty() ? "" : "Did you mean " + near + "?";
}

LoopNames names_of(const Step& step) {
    if (!step.foreach) return {};
    return {step.foreach->item_name, step.foreach->index_name};
}

std::string in_quotes(std::string_view text) {
    return "'" + base::printable(base::to_utf8(text)) + "'";
}

// What stands behind an opening brace in the texts of a value, as far as it could be a name.
std::set<std::string> words_in_braces(const json::value& value) {
    std::set<std::string> words;
    if (value.is_string()) {
        const std::string_view text = value.get_string();
        for (auto at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
            std::size_t end = at + 1;
            while (end < text.size() &&
                   (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
                ++end;
            if (end > at + 1) words.emplace(text.substr(at + 1, end - at - 1));
        }
    } else if (const auto* array = value.if_array()) {
        for (const auto& item : *array) words.merge(words_in_braces(item));
    } else if (const auto* object = value.if_object()) {
        for (const auto& member : *object) words.merge(words_in_braces(member.value()));
    }
    return words;
}

class Checker {
public:
    Checker(Checked& checked, const tools::Registry& registry)
        : out_(checked), plan_(checked.plan), registry_(registry) {}

    std::vector<Fault> run() {
        out_.needs.resize(plan_.steps.size());
        out_.needed_by.resize(plan_.steps.size());
        collect_names();
        for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
            check_tool(i);
            check_order(i);
            check_refs(i);
        }
        for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
            auto& needs = out_.needs[i];
            std::ranges::sort(needs);
            needs.erase(std::ranges::unique(needs).begin(), needs.end());
            for (const std::size_t other : needs) out_.needed_by[other].push_back(i);
        }
        check_cycles();
        check_risk();
        std::ranges::sort(out_.params);
        out_.params.erase(std::ranges::unique(out_.params).begin(), out_.params.end());
        return std::move(faults_);
    }

private:
    void fault(std::string path, std::string message, std::string hint = "") {
        faults_.push_back({std::move(path), std::move(message), std::move(hint)});
    }
    static std::string at(std::size_t step, std::string_view rest = "") {
        return fmt::format("/steps/{}{}", step, rest);
    }

    void collect_names() {
        for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
            const auto& step = plan_.steps[i];
            const auto [first, is_new] = out_.by_id.emplace(step.id, i);
            if (!is_new)
                fault(at(i, "/id"), fmt::format("there already is a step {}", in_quotes(step.id)),
                      fmt::format("It is {}; give this one another id.", at(first->second)));
            ids_.push_back(step.id);
            if (step.foreach) {
                loop_names_.insert(step.foreach->item_name);
                loop_names_.insert(step.foreach->index_name);
            }
            if (!step.capture_as) continue;
            const auto& name = *step.capture_as;
            if (name == kRunVar || name == kContextVar || name == kParamsVar)
                fault(at(i, "/captureAs"),
                      fmt::format("{} is a variable of the run", in_quotes(name)),
                      "Choose another name.");
            else if (!out_.by_capture.emplace(name, i).second)
                fault(at(i, "/captureAs"),
                      fmt::format("another step already captures as {}", in_quotes(name)),
                      "Choose another name.");
            captures_.push_back(name);
        }
        captures_.insert(captures_.end(),
                         {std::string(kRunVar), std::string(kContextVar), std::string(kParamsVar)});
        for (const auto* spec : registry_.all())
            if (spec->category != kTurnCategory) tool_names_.push_back(spec->name);
    }

    void check_tool(std::size_t i) {
        const auto& step = plan_.steps[i];
        const auto* tool = registry_.find(step.tool);
        if (!tool)
            return fault(at(i, "/tool"), fmt::format("there is no tool {}", in_quotes(step.tool)),
                         did_you_mean(step.tool, tool_names_));
        const auto& spec = tool->spec();
        if (spec.category == kTurnCategory)
            return fault(at(i, "/tool"),
                         fmt::format("{} works only in the turn of an agent", spec.name));
        if (spec.risk > out_.risk) {
            out_.risk = spec.risk;
            riskiest_ = i;
        }
        check_args(i, *tool);
    }

    // What is a reference fits or not when the run gets there; the rest is known now.
    void check_args(std::size_t i, const tools::Tool& tool) {
        const auto& step = plan_.steps[i];
        const auto refs = find_refs(step.args, names_of(step), "");
        for (const auto& found : tools::check_schema(tool.spec().input_schema, step.args)) {
            const bool unsure = std::ranges::any_of(refs, [&](const FoundRef& ref) {
                return (ref.pointer + "/").starts_with(found.pointer + "/");
            });
            if (!unsure)
                fault(at(i, "/args" + found.pointer), found.message,
                      fmt::format("See the schema: holon tools {}", tool.spec().name));
        }
        if (!refs.empty()) return;
        if (const auto error = tool.check(step.args))
            fault(at(i, "/args"), error->message, error->recovery_hint.value_or(""));
    }

    void check_order(std::size_t i) {
        const auto& step = plan_.steps[i];
        std::set<std::string> seen;
        for (std::size_t d = 0; d < step.depends_on.size(); ++d) {
            const auto& id = step.depends_on[d];
            const std::string path = at(i, fmt::format("/dependsOn/{}", d));
            const auto found = out_.by_id.find(id);
            if (!seen.insert(id).second)
                fault(path, fmt::format("{} is there twice", in_quotes(id)));
            else if (found == out_.by_id.end())
                fault(path, fmt::format("there is no step {}", in_quotes(id)),
                      did_you_mean(id, ids_));
            else if (found->second == i)
                fault(path, "a step cannot wait for itself");
            else
                out_.needs[i].push_back(found->second);
        }
    }

    void check_refs(std::size_t i) {
        const auto& step = plan_.steps[i];
        const LoopNames names = names_of(step);
        for (const auto& found : find_refs(step.args, names, at(i, "/args")))
            check_ref(i, found.ref, found.pointer);
        check_loop_names(step.args, names, at(i, "/args"));
        check_spelling(step.args, names, at(i, "/args"));
        if (!step.foreach) return;
        const std::string path = at(i, "/foreach/from");
        const auto from = exact_ref(step.foreach->from, {});
        if (!from)
            return fault(path,
                         fmt::format("expected one reference to a list, got {}",
                                     in_quotes(base::ellipsize(step.foreach->from, 60))),
                         "Write $steps.<id>.<field> or $vars.<name>.");
        check_ref(i, *from, path);
        const auto list = schema_of(*from);
        if (list && !may_be(*list, "array"))
            fault(path, fmt::format("{} is not a list", from->text),
                  "Write a reference to a list: $steps.<id>.<field>.");
    }

    // What a reference gives, as far as the schemas say.
    std::optional<json::object> schema_of(const Ref& ref) const {
        const auto& ids = ref.source == RefSource::Step ? out_.by_id : out_.by_capture;
        const auto found = ids.find(ref.name);
        if ((ref.source != RefSource::Step && ref.source != RefSource::Var) || found == ids.end())
            return std::nullopt;
        const Step& step = plan_.steps[found->second];
        const auto* tool = registry_.find(step.tool);
        if (!tool) return std::nullopt;
        json::object whole = tool->spec().output_schema;
        if (step.foreach) whole = {{"type", "array"}, {"items", std::move(whole)}};
        return part_of(whole, ref.path);
    }

    // A field that the schemas rule out can never have a value.
    void check_path(const Ref& ref, const json::object& schema, const std::string& path) {
        if (const auto why = leads_nowhere(schema, ref.path, ref.name))
            fault(path, fmt::format("{}: {}", ref.text, why->message), why->hint);
    }

    void check_item_path(const Step& step, const Ref& ref, const std::string& path) {
        const auto from = step.foreach ? exact_ref(step.foreach->from, {}) : std::nullopt;
        const auto list = from ? schema_of(*from) : std::nullopt;
        const auto* item = list ? list->if_contains("items") : nullptr;
        if (item && item->is_object()) check_path(ref, item->get_object(), path);
    }

    void check_output_path(std::size_t step, const Ref& ref, const std::string& path) {
        const auto* tool = registry_.find(plan_.steps[step].tool);
        if (!tool) return;
        json::object schema = tool->spec().output_schema;
        if (plan_.steps[step].foreach) schema = {{"type", "array"}, {"items", std::move(schema)}};
        check_path(ref, schema, path);
    }

    void check_ref(std::size_t i, const Ref& ref, const std::string& path) {
        if (ref.source == RefSource::Step) {
            const auto found = out_.by_id.find(ref.name);
            if (found == out_.by_id.end())
                return fault(path, fmt::format("{}: there is no step '{}'", ref.text, ref.name),
                             did_you_mean(ref.name, ids_));
            if (found->second == i)
                return fault(path, fmt::format("{}: a step cannot use its own result", ref.text));
            out_.needs[i].push_back(found->second);
            check_output_path(found->second, ref, path);
        } else if (ref.source == RefSource::Var) {
            check_var(i, ref, path);
        } else if (ref.source == RefSource::Item) {
            check_item_path(plan_.steps[i], ref, path);
        }
    }

    void check_var(std::size_t i, const Ref& ref, const std::string& path) {
        if (ref.name == kRunVar) {
            const std::string field = ref.path.empty() ? "" : ref.path[0];
            if (!field.empty() && field != "id" && field != "startedAt" && field != "goal")
                fault(path, fmt::format("{}: a run has id, startedAt and goal", ref.text));
            return;
        }
        if (ref.name == kParamsVar) {
            if (ref.path.empty())
                return fault(path, fmt::format("{}: name the parameter", ref.text),
                             "Write $vars.params.<name>.");
            return out_.params.push_back(ref.path[0]);
        }
        if (ref.name == kContextVar) {
            const bool asked = std::ranges::any_of(plan_.context_requests, [&](const auto& one) {
                return !ref.path.empty() &&
                       kContextKinds[static_cast<std::size_t>(one.kind)] == ref.path[0];
            });
            if (!asked)
                fault(path, fmt::format("{} is not among the plan's contextRequests", ref.text),
                      "Ask for it there.");
            return;
        }
        const auto found = out_.by_capture.find(ref.name);
        if (found == out_.by_capture.end())
            return fault(path, fmt::format("{}: no step captures as '{}'", ref.text, ref.name),
                         did_you_mean(ref.name, captures_));
        if (found->second == i)
            return fault(path, fmt::format("{}: a step cannot use its own result", ref.text));
        out_.needs[i].push_back(found->second);
        check_output_path(found->second, ref, path);
    }

    // "{note.title}" in a step without such a loop would go out as it stands, and nobody means that
    // when another step's loop has just that name.
    void check_loop_names(const json::value& value, const LoopNames& own, const std::string& path) {
        for (const auto& name : loop_names_) {
            if (name == own.item || name == own.index) continue;
            for (const auto& found : find_refs(value, {.item = name}, path))
                if (found.ref.source == RefSource::Item)
                    fault(found.pointer,
                          fmt::format("{} belongs to the loop of another step", found.ref.text),
                          "Give this step its own foreach, or double the braces to mean the text.");
        }
    }

    // "{ide.text}" in a loop over ideas would go out as it stands, too.
    void check_spelling(const json::value& value, const LoopNames& own, const std::string& path) {
        if (own.item.empty()) return;
        for (const auto& word : words_in_braces(value)) {
            if (word == own.item || word == own.index || loop_names_.contains(word)) continue;
            const std::string near = base::nearest(word, std::vector{own.item, own.index});
            if (near.empty()) continue;
            for (const auto& found : find_refs(value, {.item = word}, path))
                if (found.ref.source == RefSource::Item)
                    fault(
                        found.pointer,
                        fmt::format("{}: this loop has no variable {}", found.ref.text,
                                    in_quotes(word)),
                        fmt::format("Did you mean {}? Double the braces to mean the text.", near));
        }
    }

    void check_cycles() {
        enum class Mark { White, Grey, Black };
        std::vector<Mark> marks(plan_.steps.size(), Mark::White);
        struct Frame {
            std::size_t step;
            std::size_t next;
        };
        for (std::size_t root = 0; root < plan_.steps.size(); ++root) {
            if (marks[root] != Mark::White) continue;
            std::vector<Frame> stack{{root, 0}};
            marks[root] = Mark::Grey;
            while (!stack.empty()) {
                auto& frame = stack.back();
                if (frame.next == out_.needs[frame.step].size()) {
                    marks[frame.step] = Mark::Black;
                    stack.pop_back();
                    continue;
                }
                const std::size_t other = out_.needs[frame.step][frame.next++];
                if (marks[other] == Mark::White) {
                    marks[other] = Mark::Grey;
                    stack.push_back({other, 0});
                } else if (marks[other] == Mark::Grey) {
                    std::string way = plan_.steps[other].id;
                    const auto start = std::ranges::find(stack, other, &Frame::step);
                    for (auto step = std::next(start); step != stack.end(); ++step)
                        way += " -> " + plan_.steps[step->step].id;
                    fault(at(other),
                          fmt::format("steps wait for each other: {} -> {}", way,
                                      plan_.steps[other].id),
                          "Take out one of the references or dependsOn.");
                }
            }
        }
    }

    void check_risk() {
        if (out_.risk <= plan_.risk_level) return;
        fault("/riskLevel",
              fmt::format("the plan says {}, but step {} uses {}, which is {}",
                          risk_name(plan_.risk_level), in_quotes(plan_.steps[riskiest_].id),
                          plan_.steps[riskiest_].tool, risk_name(out_.risk)),
              fmt::format("Say {}, so that the operator who approves it knows.",
                          risk_name(out_.risk)));
    }

    Checked& out_;
    const Plan& plan_;
    const tools::Registry& registry_;
    std::vector<Fault> faults_;
    std::vector<std::string> ids_;
    std::vector<std::string> captures_;
    std::vector<std::string> tool_names_;
    std::set<std::string> loop_names_;
    std::size_t riskiest_{0};
};

}  // namespace

std::expected<CheckedPlan, std::vector<Fault>> check(const json::value& document,
                                                     const tools::Registry& registry) {
    auto [plan, faults] = decode_all(document);
    auto checked = std::make_shared<Checked>();
    checked->plan = std::move(plan);
    checked->document = document;
    checked->hash = plan_hash(document);
    const std::size_t decoding = faults.size();
    for (auto& found : Checker(*checked, registry).run())
        // What could not be read has one fault, not those that follow from it.
        if (std::none_of(faults.begin(), faults.begin() + static_cast<std::ptrdiff_t>(decoding),
                         [&](const Fault& before) {
                             return (found.path + "/").starts_with(before.path + "/");
                         }))
            faults.push_back(std::move(found));
    if (!faults.empty()) return std::unexpected(std::move(faults));
    return checked;
}

std::expected<CheckedPlan, std::vector<Fault>> check_text(std::string_view text,
                                                          const tools::Registry& registry) {
    const auto document = parse_document(text);
    if (!document) return std::unexpected(std::vector<Fault>{{"", document.error().message, ""}});
    return check(*document, registry);
}

std::string faults_text(const std::vector<Fault>& faults) {
    std::string text;
    for (const auto& fault : faults) {
        if (!text.empty()) text += '\n';
        text += fmt::format("{}: {}{}{}", fault.path.empty() ? "the plan" : fault.path,
                            fault.message, fault.hint.empty() ? "" : ". ", fault.hint);
    }
    return text;
}

}  // namespace plan
