#include "train/report/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/quoting.h"

namespace rodeo {

std::string_view page_style() {
  return R"(
body{margin:2rem auto;max-width:1360px;padding:0 1rem;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:1.5rem 2.5rem}
h1{font-size:1.5rem}h2{font-size:1.05rem;margin:.2rem 0}.note{font-size:.85rem;opacity:.8;margin:.2rem 0}
section{min-width:0;overflow-x:auto}table{border-collapse:collapse}th,td{text-align:left;padding:.1rem 1rem .1rem 0;font-weight:normal;vertical-align:top;overflow-wrap:anywhere}
th{opacity:.75;white-space:nowrap;overflow-wrap:normal}.scores td{overflow-wrap:normal}pre{overflow-x:auto;font-size:.8rem}.scores td,.scores th{text-align:right}
.warning{border-left:4px solid #d97706;background:#d9770622;padding:.3rem .7rem}summary{cursor:pointer}summary h2{display:inline}
.result,.fold{grid-column:1/-1}.fold .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr));gap:1.5rem 2.5rem}
.result p{margin:.2rem 0}.result b{font-size:3.2rem;line-height:1.1}.changed td,.changed th{font-weight:bold;opacity:1}code{overflow-wrap:anywhere}
@media(max-width:600px){body{margin:1rem auto}th{white-space:normal}}.option{white-space:nowrap}
)";
}

std::string prose(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find("--"), text.size());
    std::size_t end = at;
    while (end < text.size() && (text[end] == '-' || (text[end] >= 'a' && text[end] <= 'z'))) ++end;
    out += html_text(text.substr(0, at));
    if (end > at)
      out += fmt::format("<span class=\"option\">{}</span>", html_text(text.substr(at, end - at)));
    text.remove_prefix(end);
  }
  return out;
}

std::string section(std::string_view title, const std::string& content, std::string_view note,
                    bool is_folded) {
  const std::string_view begin = is_folded ? " class=\"fold\"><details><summary>" : ">";
  return fmt::format(
      "<section{}<h2>{}</h2>{}\n{}{}{}</section>\n", begin, html_text(title), is_folded ? "</summary>" : "",
      content, note.empty() ? std::string() : fmt::format("<p class=\"note\">{}</p>\n", html_text(note)),
      is_folded ? "</details>" : "");
}

std::string table(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string out = "<table>\n";
  for (const auto& [name, value] : rows)
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", html_text(name), prose(value));
  return out + "</table>\n";
}

std::string percent(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

}  // namespace rodeo
