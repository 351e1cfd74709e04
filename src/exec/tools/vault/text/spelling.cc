#include "exec/tools/vault/text/spelling.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/text.h"

namespace vault {
namespace {

// Letters that have a code point of their own together with a mark: what remains without the mark,
// and the whole, in the same order. From the Unicode character database: Latin, Greek, Cyrillic and
// Kana. Hangul follows a rule instead.
struct Marked {
    char32_t mark;
    std::u32string_view plain;
    std::u32string_view whole;
};
// clang-format off
constexpr Marked kMarked[] = {
    {U'\u0300', U"AEIOUaeiouÜüNnЕИеиĒēŌōWwÂâĂăÊêÔôƠơƯưYyἀἁἈἉἐἑἘἙἠἡἨἩἰἱἸἹὀὁὈὉὐὑ"
     U"ὙὠὡὨὩαεηιουωΑΕΗ᾿ϊΙ῾ϋΥ¨ΟΩ",
     U"ÀÈÌÒÙàèìòùǛǜǸǹЀЍѐѝḔḕṐṑẀẁẦầẰằỀềỒồỜờỪừỲỳἂἃἊἋἒἓἚἛἢἣἪἫἲἳἺἻὂὃὊὋὒὓ"
     U"ὛὢὣὪὫὰὲὴὶὸὺὼᾺῈῊ῍ῒῚ῝ῢῪ῭ῸῺ"},
    {U'\u0301', U"AEIOUYaeiouyCcLlNnRrSsZzÜüGgÅåÆæØø̈¨ΑΕΗΙΟΥΩϊαεηιϋουωϒГКгкÇçĒ"
     U"ēÏïKkMmÕõŌōPpŨũWwÂâĂăÊêÔôƠơƯưἀἁἈἉἐἑἘἙἠἡἨἩἰἱἸἹὀὁὈὉὐὑὙὠὡὨὩ᾿῾",
     U"ÁÉÍÓÚÝáéíóúýĆćĹĺŃńŔŕŚśŹźǗǘǴǵǺǻǼǽǾǿ̈́΅ΆΈΉΊΌΎΏΐάέήίΰόύώϓЃЌѓќḈḉḖ"
     U"ḗḮḯḰḱḾḿṌṍṒṓṔṕṸṹẂẃẤấẮắẾếỐốỚớỨứἄἅἌἍἔἕἜἝἤἥἬἭἴἵἼἽὄὅὌὍὔὕὝὤὥὬὭ῎῞"},
    {U'\u0302', U"AEIOUaeiouCcGgHhJjSsWwYyZzẠạẸẹỌọ",
     U"ÂÊÎÔÛâêîôûĈĉĜĝĤĥĴĵŜŝŴŵŶŷẐẑẬậỆệỘộ"},
    {U'\u0303', U"ANOanoIiUuVvÂâĂăEeÊêÔôƠơƯưYy",
     U"ÃÑÕãñõĨĩŨũṼṽẪẫẴẵẼẽỄễỖỗỠỡỮữỸỹ"},
    {U'\u0304', U"AaEeIiOoUuÜüÄäȦȧÆæǪǫÖöÕõȮȯYyИиУуGgḶḷṚṛαΑιΙυΥ",
     U"ĀāĒēĪīŌōŪūǕǖǞǟǠǡǢǣǬǭȪȫȬȭȰȱȲȳӢӣӮӯḠḡḸḹṜṝᾱᾹῑῙῡῩ"},
    {U'\u0306', U"AaEeGgIiOoUuУИиуЖжАаЕеȨȩẠạαΑιΙυΥ",
     U"ĂăĔĕĞğĬĭŎŏŬŭЎЙйўӁӂӐӑӖӗḜḝẶặᾰᾸῐῘῠῨ"},
    {U'\u0307', U"CcEeGgIZzAaOoBbDdFfHhMmNnPpRrSsŚśŠšṢṣTtWwXxYyſ",
     U"ĊċĖėĠġİŻżȦȧȮȯḂḃḊḋḞḟḢḣṀṁṄṅṖṗṘṙṠṡṤṥṦṧṨṩṪṫẆẇẊẋẎẏẛ"},
    {U'\u0308', U"AEIOUaeiouyYΙΥιυϒЕІеіАаӘәЖжЗзИиОоӨөЭэУуЧчЫыHhÕõŪūWwXxt",
     U"ÄËÏÖÜäëïöüÿŸΪΫϊϋϔЁЇёїӒӓӚӛӜӝӞӟӤӥӦӧӪӫӬӭӰӱӴӵӸӹḦḧṎṏṺṻẄẅẌẍẗ"},
    {U'\u0309', U"AaÂâĂăEeÊêIiOoÔôƠơUuƯưYy",
     U"ẢảẨẩẲẳẺẻỂểỈỉỎỏỔổỞởỦủỬửỶỷ"},
    {U'\u030a', U"AaUuwy",
     U"ÅåŮůẘẙ"},
    {U'\u030b', U"OoUuУу",
     U"ŐőŰűӲӳ"},
    {U'\u030c', U"CcDdEeLlNnRrSsTtZzAaIiOoUuÜüGgKkƷʒjHh",
     U"ČčĎďĚěĽľŇňŘřŠšŤťŽžǍǎǏǐǑǒǓǔǙǚǦǧǨǩǮǯǰȞȟ"},
    {U'\u030f', U"AaEeIiOoRrUuѴѵ",
     U"ȀȁȄȅȈȉȌȍȐȑȔȕѶѷ"},
    {U'\u0311', U"AaEeIiOoRrUu",
     U"ȂȃȆȇȊȋȎȏȒȓȖȗ"},
    {U'\u0313', U"αΑεΕηΗιΙοΟυωΩρ",
     U"ἀἈἐἘἠἨἰἸὀὈὐὠὨῤ"},
    {U'\u0314', U"αΑεΕηΗιΙοΟυΥωΩρΡ",
     U"ἁἉἑἙἡἩἱἹὁὉὑὙὡὩῥῬ"},
    {U'\u031b', U"OoUu",
     U"ƠơƯư"},
    {U'\u0323', U"BbDdHhKkLlMmNnRrSsTtVvWwZzAaEeIiOoƠơUuƯưYy",
     U"ḄḅḌḍḤḥḲḳḶḷṂṃṆṇṚṛṢṣṬṭṾṿẈẉẒẓẠạẸẹỊịỌọỢợỤụỰựỴỵ"},
    {U'\u0324', U"Uu",
     U"Ṳṳ"},
    {U'\u0325', U"Aa",
     U"Ḁḁ"},
    {U'\u0326', U"SsTt",
     U"ȘșȚț"},
    {U'\u0327', U"CcGgKkLlNnRrSsTtEeDdHh",
     U"ÇçĢģĶķĻļŅņŖŗŞşŢţȨȩḐḑḨḩ"},
    {U'\u0328', U"AaEeIiUuOo",
     U"ĄąĘęĮįŲųǪǫ"},
    {U'\u032d', U"DdEeLlNnTtUu",
     U"ḒḓḘḙḼḽṊṋṰṱṶṷ"},
    {U'\u032e', U"Hh",
     U"Ḫḫ"},
    {U'\u0330', U"EeIiUu",
     U"ḚḛḬḭṴṵ"},
    {U'\u0331', U"BbDdKkLlNnRrTtZzh",
     U"ḆḇḎḏḴḵḺḻṈṉṞṟṮṯẔẕẖ"},
    {U'\u0338', U"←→↔⇐⇔⇒∃∈∋∣∥∼≃≅≈=≡≍<>≤≥≲≳≶≷≺≻⊂⊃⊆⊇⊢⊨⊩⊫≼≽⊑⊒⊲⊳⊴⊵⫝",
     U"↚↛↮⇍⇎⇏∄∉∌∤∦≁≄≇≉≠≢≭≮≯≰≱≴≵≸≹⊀⊁⊄⊅⊈⊉⊬⊭⊮⊯⋠⋡⋢⋣⋪⋫⋬⋭⫝̸"},
    {U'\u0342', U"ἀἁἈἉἠἡἨἩἰἱἸἹὐὑὙὠὡὨὩα¨η᾿ιϊ῾υϋω",
     U"ἆἇἎἏἦἧἮἯἶἷἾἿὖὗὟὦὧὮὯᾶ῁ῆ῏ῖῗ῟ῦῧῶ"},
    {U'\u0345', U"ἀἁἂἃἄἅἆἇἈἉἊἋἌἍἎἏἠἡἢἣἤἥἦἧἨἩἪἫἬἭἮἯὠὡὢὣὤὥὦὧὨὩὪὫὬὭὮὯὰαάᾶΑὴηήῆΗὼω"
     U"ώῶΩ",
     U"ᾀᾁᾂᾃᾄᾅᾆᾇᾈᾉᾊᾋᾌᾍᾎᾏᾐᾑᾒᾓᾔᾕᾖᾗᾘᾙᾚᾛᾜᾝᾞᾟᾠᾡᾢᾣᾤᾥᾦᾧᾨᾩᾪᾫᾬᾭᾮᾯᾲᾳᾴᾷᾼῂῃῄῇῌῲῳ"
     U"ῴῷῼ"},
    {U'\u3099', U"かきくけこさしすせそたちつてとはひふへほうゝカキクケコサシスセソタチツテトハヒフヘホウワヰヱヲヽ",
     U"がぎぐげござじずぜぞだぢづでどばびぶべぼゔゞガギグゲゴザジズゼゾダヂヅデドバビブベボヴヷヸヹヺヾ"},
    {U'\u309a', U"はひふへほハヒフヘホ",
     U"ぱぴぷぺぽパピプペポ"}};
// clang-format on

constexpr char32_t kHangulFirst = 0xAC00, kHangulLast = 0xD7A3;
constexpr char32_t kLeadFirst = 0x1100, kVowelFirst = 0x1161, kTailBefore = 0x11A7;
constexpr char32_t kVowels = 21, kTails = 28;

struct Parts {
    char32_t plain;
    char32_t mark;
};

const std::unordered_map<char32_t, Parts>& parts() {
    static const auto table = [] {
        std::unordered_map<char32_t, Parts> made;
        for (const auto& row : kMarked)
            for (std::size_t i = 0; i < row.whole.size(); ++i)
                made[row.whole[i]] = {row.plain[i], row.mark};
        return made;
    }();
    return table;
}

void append(std::string& out, char32_t c) {
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xC0 | (c >> 6U));
        out += static_cast<char>(0x80 | (c & 0x3FU));
    } else if (c < 0x10000) {
        out += static_cast<char>(0xE0 | (c >> 12U));
        out += static_cast<char>(0x80 | ((c >> 6U) & 0x3FU));
        out += static_cast<char>(0x80 | (c & 0x3FU));
    } else {
        out += static_cast<char>(0xF0 | (c >> 18U));
        out += static_cast<char>(0x80 | ((c >> 12U) & 0x3FU));
        out += static_cast<char>(0x80 | ((c >> 6U) & 0x3FU));
        out += static_cast<char>(0x80 | (c & 0x3FU));
    }
}

void append_apart(std::string& out, char32_t c) {
    if (c >= kHangulFirst && c <= kHangulLast) {
        const char32_t index = c - kHangulFirst;
        append(out, kLeadFirst + index / (kVowels * kTails));
        append(out, kVowelFirst + index % (kVowels * kTails) / kTails);
        if (index % kTails != 0) append(out, kTailBefore + index % kTails);
        return;
    }
    const auto found = parts().find(c);
    if (found == parts().end()) return append(out, c);
    append_apart(out, found->second.plain);
    append(out, found->second.mark);
}

// The code point at the start of `text`, which moves behind it. `text` is UTF-8.
char32_t take(std::string_view& text) {
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t c = size == 1 ? first : first & (0xFFU >> (size + 1));
    for (std::size_t i = 1; i < size && i < text.size(); ++i)
        c = (c << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    text.remove_prefix(std::min(size, text.size()));
    return c;
}

}  // namespace

bool has_spellings(std::string_view text) {
    return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

std::string spelling(std::string_view text) {
    if (!has_spellings(text)) return std::string(text);
    const std::string utf8 = base::to_utf8(text);
    std::string out;
    for (std::string_view left = utf8; !left.empty();) append_apart(out, take(left));
    return out;
}

}  // namespace vault
