// tools/resilin/report_style.cpp -- the looks of a report: its style sheet, and the few lines that tell values under the pointer.
#include "tools/resilin/report_style.h"

namespace resilin::tool {

const std::string_view kReportStyle = R"css(
:root { color-scheme: light dark;
  --paper: #f7f7f5; --card: #ffffff; --ink: #1e2329; --soft: #5d6670; --edge: #e4e4df; --grid: #e9e9e5; --axis: #9aa1a8;
  --blue: #0072b2; --sky: #56b4e9; --green: #009e73; --amber: #e69f00; --pink: #cc79a7; --red: #d55e00; --grey: #b9bec4; --good: #00795a; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #121417; --card: #1a1d22; --ink: #e7e9ec; --soft: #a2abb5; --edge: #2b3038; --grid: #272c33; --axis: #6b747e;
  --blue: #4aa8e0; --sky: #8fd0f5; --green: #2cc095; --amber: #f0b432; --pink: #dd9cc0; --red: #ff7d33; --grey: #5a626c; --good: #3fd0a5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 48px 24px 72px; }
h1 { font-size: 28px; font-weight: 650; letter-spacing: -0.01em; margin: 0 0 6px; }
h2 { font-size: 17px; font-weight: 620; margin: 0 0 18px; }
.facts { color: var(--soft); margin: 0 0 30px; }
.problem { background: var(--card); border: 1px solid var(--red); border-radius: 12px; padding: 14px 20px; margin: 0 0 24px; }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 14px; margin: 0 0 30px; padding: 0; }
.tile { background: var(--card); border: 1px solid var(--edge); border-radius: 12px; padding: 16px 18px 14px; margin: 0; }
.tile dt { color: var(--soft); font-size: 13px; }
.tile dd { margin: 0; } .tile .value { font-size: 25px; font-weight: 640; line-height: 1.35; font-variant-numeric: tabular-nums; }
.tile .unit { font-size: 14px; font-weight: 450; color: var(--soft); } .tile .more { color: var(--soft); font-size: 12.5px; line-height: 1.4; }
.tile .good { color: var(--good); } .tile .bad { color: var(--red); }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: 14px; margin: 0 0 24px; padding: 26px 28px 22px; }
figcaption { color: var(--soft); margin: 16px 0 0; max-width: 76ch; font-size: 14px; }
svg { display: block; width: 100%; height: auto; overflow: visible; } svg.narrow { display: none; }
svg text { font-size: 12.5px; fill: var(--soft); font-variant-numeric: tabular-nums; } svg .label { fill: var(--ink); }
svg .note { fill: var(--ink); font-size: 12px; } svg .row, svg .key { font-size: 12px; } svg .numbers text { font-size: 10.5px; fill: var(--ink); }
svg .halo { paint-order: stroke; stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; }
.grid { stroke: var(--grid); } .axis { stroke: var(--axis); } .rail { stroke: var(--grid); } .life { stroke: var(--axis); stroke-width: 1.5; }
.guide { stroke: var(--axis); stroke-dasharray: 2 3; opacity: 0.75; } .kill-guide { stroke: var(--red); stroke-dasharray: none; opacity: 0.8; }
.kill path { stroke: var(--red); stroke-width: 2.4; stroke-linecap: round; fill: none; } .on-lane .kill path { stroke-width: 3; paint-order: stroke; }
.shrink path { fill: var(--amber); } .join path { fill: var(--blue); } .heal circle { fill: var(--green); }
.curve { fill: none; stroke: var(--blue); stroke-width: 1.8; stroke-linejoin: round; } .raw { stroke-width: 1; opacity: 0.55; }
.area { fill: var(--blue); opacity: 0.13; stroke: none; } .reference { stroke: var(--soft); stroke-dasharray: 6 4; }
.held { fill: var(--green); stroke: var(--card); stroke-width: 1.5; }
.g0 { fill: var(--pink); color: var(--pink); } .g1 { fill: var(--blue); color: var(--blue); } .g2 { fill: var(--amber); color: var(--amber); }
.g3 { fill: var(--green); color: var(--green); } .g4 { fill: var(--sky); color: var(--sky); }
.tint { fill-opacity: 0.3; stroke: currentColor; }
.ground { fill: var(--card); stroke: none; } svg.narrow .numbers text { font-size: 9px; }
.hatch { fill: url(#hatching); stroke: none; } .healed { fill: none; stroke: var(--axis); } .hatching { stroke: var(--ink); stroke-width: 1.4; }
.bar-commit { fill: var(--red); } .bar-full { fill: var(--blue); }
.part-train { fill: var(--blue); } .part-data { fill: var(--sky); } .part-checkpoint { fill: var(--amber); } .part-recover { fill: var(--red); }
.part-idle { fill: var(--grey); } .part-unreported { fill: none; stroke: var(--axis); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; margin: 20px 0 0; }
th { color: var(--soft); font-weight: 500; text-align: right; } td { text-align: right; } th, td { padding: 7px 0 7px 18px; border-bottom: 1px solid var(--edge); }
th:first-child, td:first-child { text-align: left; padding-left: 0; white-space: nowrap; } td.word, th.word { text-align: left; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: 13.5px/1.6 ui-monospace, "Cascadia Code", Menlo, monospace; margin: 0; }
summary { cursor: pointer; font-weight: 620; } footer { color: var(--soft); font-size: 13px; }
#tip { position: fixed; pointer-events: none; background: var(--ink); color: var(--card); border-radius: 6px; padding: 3px 9px; font-size: 12.5px; visibility: hidden; }
.pin { fill: var(--card); stroke: var(--blue); stroke-width: 2; visibility: hidden; }
@media (max-width: 900px) { .tiles { grid-template-columns: repeat(2, 1fr); } }
@media (max-width: 680px) { main { padding: 28px 12px 48px; } .card { padding: 20px 14px 18px; } .tile { padding: 12px 14px; } .tile .value { font-size: 21px; }
  .tiles { gap: 10px; } svg.wide { display: none; } svg.narrow { display: block; max-width: 560px; margin: 0 auto; } h1 { font-size: 24px; } }
@media print { body { background: none; } .card, .tile { break-inside: avoid; } }
)css";

const std::string_view kReportScript = R"js(
document.querySelectorAll('polyline[data-map]').forEach(function (line) {
  var svg = line.ownerSVGElement, tip = document.getElementById('tip'), map = line.dataset.map.split(' ').map(Number);
  var points = line.getAttribute('points').split(' ').map(function (pair) { return pair.split(',').map(Number); });
  var pin = document.createElementNS('http://www.w3.org/2000/svg', 'circle');
  pin.setAttribute('class', 'pin'); pin.setAttribute('r', 4); svg.appendChild(pin);
  function show(how) { tip.style.visibility = how; pin.style.visibility = how; }
  svg.addEventListener('pointerleave', function () { show('hidden'); });
  svg.addEventListener('pointermove', function (event) {
    var box = svg.getBoundingClientRect(), x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
    var best = points.reduce(function (a, b) { return Math.abs(a[0] - x) > Math.abs(b[0] - x) ? b : a; });
    pin.setAttribute('cx', best[0]); pin.setAttribute('cy', best[1]);
    tip.textContent = line.dataset.words.replace('{x}', (map[0] + map[1] * best[0]).toFixed(map[4])).replace('{y}', (map[2] + map[3] * best[1]).toFixed(map[5]));
    tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px'; tip.style.top = event.clientY - 34 + 'px';
    show('visible');
  });
});
)js";

}  // namespace resilin::tool
