"""Best-so-far curves as SVG: a small plot a task, a line a policy, trials on a logarithmic axis."""

import math

from runs import speed_after
from statistic import geomean

COLORS = ("#888888", "#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#16a085", "#34495e")
WIDTH, HEIGHT, LEFT, TOP, ACROSS = 300, 190, 44, 34, 3


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def curve_of(runs, limit):
    """[(trials, speed-up)] of the geometric mean over seeds."""
    trials = sorted({t for run in runs for t, _, _ in run["curve"]} | {limit})
    return [(t, geomean([speed_after(run, t) for run in runs])) for t in trials if t <= limit]


def plot(title, lines, limit, x, y):
    top = max(speed for _, curve in lines for _, speed in curve)
    top = 1 + max(0.02, (top - 1) * 1.1)
    inner, tall = WIDTH - LEFT - 12, HEIGHT - TOP - 28

    def at(trial, speed):
        across = math.log(trial) / math.log(limit) if limit > 1 else 1
        return x + LEFT + inner * across, y + TOP + tall * (1 - (speed - 1) / (top - 1))

    parts = [f'<text x="{x + 6}" y="{y + 18}" font-size="10" font-weight="bold">{escape(title)}</text>']
    for k in range(3):
        speed = 1 + (top - 1) * k / 2
        left, height = at(1, speed)
        parts.append(f'<line x1="{left:.1f}" y1="{height:.1f}" x2="{left + inner:.1f}" y2="{height:.1f}" stroke="#ddd"/>'
                     f'<text x="{left - 4:.1f}" y="{height + 3:.1f}" text-anchor="end">{speed:.2f}</text>')
    trial = 1
    while trial <= limit:
        across, low = at(trial, 1)
        parts.append(f'<text x="{across:.1f}" y="{low + 14:.1f}" text-anchor="middle">{trial}</text>')
        trial *= 10
    for color, curve in lines:
        points = []
        for i, (t, speed) in enumerate(curve):
            if i:  # a step: the speed holds until it is improved
                points.append("%.1f,%.1f" % at(t, curve[i - 1][1]))
            points.append("%.1f,%.1f" % at(t, speed))
        parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="{" ".join(points)}"/>')
    return parts


def svg(tasks, policies, runs_of, limit):
    rows = (len(tasks) + ACROSS - 1) // ACROSS
    width, height = WIDTH * ACROSS, HEIGHT * rows + 30
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" font-size="9">', f'<rect width="{width}" height="{height}" fill="white"/>']
    for i, policy in enumerate(policies):
        x = 10 + i * 150
        parts.append(f'<rect x="{x}" y="8" width="18" height="4" fill="{COLORS[i % len(COLORS)]}"/>'
                     f'<text x="{x + 24}" y="14">{escape(policy)}</text>')
    for i, task in enumerate(tasks):
        lines = [(COLORS[k % len(COLORS)], curve_of(runs_of(task, p), limit))
                 for k, p in enumerate(policies) if runs_of(task, p)]
        if lines:
            parts += plot(task[:52], lines, limit, WIDTH * (i % ACROSS), 30 + HEIGHT * (i // ACROSS))
    return "\n".join(parts + ["</svg>"]) + "\n"
