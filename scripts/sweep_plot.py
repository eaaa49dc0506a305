"""The picture of scripts/sweep.py: the validation score of each trial over each option, as SVG."""
import html
import math
import statistics

WIDTH, HEIGHT, LEFT, TOP, ROOM = 220, 150, 46, 26, 24  # of a panel, and its margins, in pixels


def places(values):
    """(position from 0 to 1 of each value, [(position, label)]). Numbers with a ratio from 20 have a logarithmic axis."""
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    distinct = sorted(set(values)) if numbers else sorted({str(v) for v in values})
    if not numbers or len(distinct) == 1:
        names = [str(v) for v in distinct]
        at = {name: (i + 0.5) / len(names) for i, name in enumerate(names)}
        return [at[str(v)] for v in values], [(at[name], name) for name in names]
    low, high = distinct[0], distinct[-1]
    scale = math.log if low > 0 and high >= 20 * low else float
    position = [(scale(v) - scale(low)) / (scale(high) - scale(low)) for v in values]
    return position, [(0, f"{low:.4g}"), (1, f"{high:.4g}")]


def panel(option, values, scores, low, high, left):
    xs, ticks = places(values)
    width, height = WIDTH - LEFT - ROOM, HEIGHT - TOP - ROOM

    def text(x, y, words, anchor="middle"):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'

    left += LEFT
    parts = [f'<rect x="{left}" y="{TOP}" width="{width}" height="{height}" fill="none" stroke="#999"/>',
             text(left + width / 2, TOP - 8, option),
             text(left - 4, TOP + 9, f"{100 * high:.2f}", "end"), text(left - 4, TOP + height, f"{100 * low:.2f}", "end")]
    parts += [text(left + 6 + x * (width - 12), TOP + height + 14, label) for x, label in ticks]
    for x, score in zip(xs, scores):
        y = (score - low) / (high - low) if high > low else 0.5
        color = "#d62728" if score == max(scores) else "#1f77b4"
        parts.append(f'<circle cx="{left + 6 + x * (width - 12):.1f}" cy="{TOP + height - 6 - y * (height - 12):.1f}" r="3.5" '
                     f'fill="{color}" fill-opacity="0.7"/>')
    return "\n".join(parts)


def svg(rows):
    """rows: (options of the trial, results of its runs). A panel for each option; failed trials are left out."""
    rows = [(options, statistics.fmean(r["best"]["val"] for r in results)) for options, results in rows
            if all("best" in r for r in results)]
    names, scores = list(rows[0][0]) if rows else [], [score for _, score in rows]
    panels = [panel(name, [options[name] for options, _ in rows], scores, min(scores), max(scores), i * WIDTH)
              for i, name in enumerate(names)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * max(len(names), 1)}" height="{HEIGHT}" '
            'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(panels) + "\n</svg>\n")
