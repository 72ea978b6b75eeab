//go:build linux

package web

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/webtest"
)

// The page in a browser, of jobs that are made up; tests/web_test.go has real ones.

// keep writes a picture of the page where FITMPI_WEB_SHOTS says, for people to look at and for
// docs/web.
func keep(t *testing.T, p *webtest.Page, name string, all bool) {
	t.Helper()
	dir := os.Getenv("FITMPI_WEB_SHOTS")
	if dir == "" {
		return
	}
	p.Drawn()
	if err := os.WriteFile(filepath.Join(dir, name+".png"), p.Screenshot(all), 0o666); err != nil {
		t.Fatal(err)
	}
}

// want fails the test unless an expression of JavaScript has this value.
func want[V comparable](t *testing.T, p *webtest.Page, expression string, value V) {
	t.Helper()
	var got V
	if p.Eval(expression, &got); got != value {
		t.Errorf("%s is %#v, want %#v", expression, got, value)
	}
}

func wantNoTrouble(t *testing.T, p *webtest.Page) {
	t.Helper()
	if trouble := p.Trouble(); len(trouble) > 0 {
		t.Errorf("the page complains: %q", trouble)
	}
}

// stencilJob is a job of n ranks in a grid that exchange halos, so many steps from one answer to
// the next.
func stencilJob(n, columns, perHost, steps int) *fake {
	f := newFake(n, perHost)
	done := 40000
	f.onAsk = func(f *fake) {
		done += steps
		f.stencil(columns, done)
	}
	for r := range n {
		f.note(r, string(launch.Started))
	}
	for r := range n {
		f.note(r, string(launch.Joined))
	}
	return f
}

const answered = `document.getElementById("tile-sent").textContent !== "–" && document.getElementById("tile-sent").textContent !== "0 B"`

// A page of 256 ranks has them all, and shows one cell of 65536 as well as of four.
func TestPageOf256Ranks(t *testing.T) {
	effort.Need(t, effort.Usual, "it needs a browser")
	b := webtest.Start(t)
	f := stencilJob(256, 16, 32, 400)
	f.ranks[77].State = launch.State{Phase: launch.Over, PID: 4077, Code: 137, Why: "was killed by signal 9 (killed)"}
	f.note(-1, "rank 77 (pid 4077 on node03) was killed by signal 9 (killed); the job was ended")
	s, _ := served(t, f, "127.0.0.1:0")
	p := b.Open(s.URL(), 1400, 1000)
	p.Until(`document.querySelectorAll("#ranks tbody tr").length === 256 && ` + answered)
	want(t, p, `document.getElementById("about").textContent.startsWith("256 ranks on 8 hosts, ")`, true)
	want(t, p, `document.getElementById("status-text").textContent`, "rank 77 was killed by signal 9 (killed)")
	want(t, p, `document.querySelectorAll("#ranks tbody tr.failed").length`, 1)
	// Rank 100's neighbour below is rank 116, to which it sends 64 KiB in each step. The steps go
	// on meanwhile.
	p.Eval(`document.getElementById("from").value = 100; document.getElementById("to").value = 116; document.getElementById("to").dispatchEvent(new Event("input"))`, nil)
	p.Until(`(() => {const m = document.getElementById("matrix-out").textContent.match(/^From rank 100 to rank 116: ([\d.]+) GiB in ([\d,]+) messages since/);
		return m && Math.abs(m[1] * 2 ** 30 / (m[2].replaceAll(",", "") * 65536) - 1) < 0.01})()`)
	p.Until(`/400 in the last interval/.test(document.getElementById("matrix-out").textContent)`)
	// The pixel of that cell is coloured, that of two ranks that are no neighbours is not.
	want(t, p, `(() => {const c = document.getElementById("matrix"), s = (c.height - 40) / 256, left = 26 + 8 * 3, data = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		const at = (from, to) => data[4 * (Math.floor(38 + (from + 0.5) * s) * c.width + Math.floor(left + (to + 0.5) * s))];
		return [at(100, 120), at(100, 102), at(9, 25), at(25, 9)].map((red) => red > 200).join()})()`, "true,true,false,false")
	// The filter, and the order of ranks by how much they wait.
	p.Eval(`document.getElementById("filter").value = "failed"; document.getElementById("filter").dispatchEvent(new Event("change"))`, nil)
	p.Until(`document.querySelectorAll("#ranks tbody tr").length === 1`)
	want(t, p, `document.querySelector("#ranks tbody tr").cells[1].textContent`, "✕failed: was killed by signal 9 (killed)")
	p.Eval(`document.getElementById("filter").value = ""; document.getElementById("filter").dispatchEvent(new Event("change"))`, nil)
	p.Until(`document.querySelectorAll("#ranks tbody tr").length === 256`)
	p.Eval(`document.querySelectorAll("#ranks thead button")[5].click()`, nil)
	want(t, p, `document.querySelectorAll("#ranks thead th")[5].ariaSort`, "descending")
	want(t, p, `(() => {const w = [...document.querySelectorAll("#ranks tbody tr")].map((tr) => parseInt(tr.cells[5].textContent)); return w.every((x, i) => i === 0 || x <= w[i - 1])})()`, true)
	p.Eval(`document.querySelectorAll("#ranks thead button")[0].click()`, nil)
	// What cannot be seen in the heat map is in a table.
	p.Eval(`document.getElementById("row").open = true`, nil)
	p.Until(`document.querySelectorAll("#sends tbody tr").length === 256 && /GiB/.test(document.querySelectorAll("#sends tbody tr")[116].textContent)`)
	p.Eval(`document.getElementById("row").open = false`, nil)
	p.Resize(1400, 1500) // down to the end of the map
	p.Eval(`scrollTo(0, 0)`, nil)
	keep(t, p, "256-light", false)
	p.Prefer("prefers-color-scheme", "dark")
	keep(t, p, "256-dark", false)
	wantNoTrouble(t, p)
}

// TestPageIsAccessible: the page is used with a keyboard alone, and says what it shows to users
// that do not see it.
func TestPageIsAccessible(t *testing.T) {
	effort.Need(t, effort.Usual, "it needs a browser")
	b := webtest.Start(t)
	f := stencilJob(4, 2, 2, 100)
	s, stop := served(t, f, "127.0.0.1:0")
	p := b.Open(s.URL(), 1200, 900)
	p.Until(answered)
	p.Drawn()
	wantFocusOrder(t, p)
	wantNames(t, p)
	wantKeys(t, p)
	wantThemes(t, p)
	wantPause(t, p)
	p.Eval(`document.getElementById("why").click()`, nil)
	p.Until(`document.getElementById("why-out").innerText === "rank 0 waits in Recv <b>for ever</b>" && !document.getElementById("why").disabled`)
	p.Prefer("prefers-reduced-motion", "reduce")
	want(t, p, `getComputedStyle(document.querySelector(".meter span")).transitionDuration`, "0s")
	p.Prefer("prefers-reduced-motion", "no-preference")
	const tooWide = `[...document.querySelectorAll("body *")].filter((e) => !e.closest(".scroll *, .unseen, .skip") && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "#" + e.id).join(" ")`
	want(t, p, tooWide, "")
	p.Resize(360, 700)
	p.Drawn()
	want(t, p, tooWide, "")
	keep(t, p, "4-narrow", true)
	p.Eval(`(() => {const close = EventSource.prototype.close; EventSource.prototype.close = function () {window.isClosed = true; close.call(this)}})()`, nil)
	stop()
	p.Until(`document.getElementById("status-text").textContent === "fitrun has ended"`)
	want(t, p, `window.isClosed`, true) // else it would ask again for ever, and take another job at this port for its own
	wantNoTrouble(t, p)
}

// wantFocusOrder goes through the page with the key Tab.
func wantFocusOrder(t *testing.T, p *webtest.Page) {
	t.Helper()
	var got []string
	for range 60 {
		p.Press("Tab")
		var at struct {
			Name    string
			Outline bool
		}
		p.Eval(`(() => {const e = document.activeElement;
			return {Name: e === document.body ? "" : e.id || e.name || e.className || e.closest("[id]").id + " " + e.tagName.toLowerCase(),
				Outline: getComputedStyle(e).outlineStyle !== "none"}})()`, &at)
		if at.Name == "" {
			break
		}
		if !at.Outline {
			t.Errorf("%s has the focus and does not show it", at.Name)
		}
		if len(got) == 0 || got[len(got)-1] != at.Name {
			got = append(got, at.Name)
		}
	}
	order := []string{"skip", "period", "theme", "pause", "bars", "unit", "matrix", "from", "to", "row summary", "filter",
		"scroll tall", "ranks button", "why", "scroll tall", "queues button", "scroll tall"}
	if !slices.Equal(got, order) {
		t.Errorf("the focus goes through\n%q, want\n%q", got, order)
	}
}

// wantNames reads the page as assistive technology does.
func wantNames(t *testing.T, p *webtest.Page) {
	t.Helper()
	named := []string{"button", "combobox", "radio", "spinbutton", "image", "table", "region", "link", "columnheader", "rowheader"}
	found := make(map[string]int)
	var all strings.Builder
	for _, n := range p.Accessibility() {
		role := strings.ReplaceAll(n.Role, "img", "image")
		if slices.Contains(named, role) && strings.TrimSpace(n.Name) == "" {
			t.Errorf("a %s has no name", n.Role)
		}
		found[role]++
		all.WriteString(n.Role + " " + n.Name + "\n")
	}
	for role, least := range map[string]int{"button": 19, "combobox": 2, "radio": 4, "spinbutton": 2, "table": 4, "rowheader": 8, "heading": 7, "main": 1, "status": 4, "banner": 1} {
		if found[role] < least {
			t.Errorf("%d elements with the role %s, want %d at least", found[role], role, least)
		}
	}
	for _, text := range []string{"heading How much each rank sends to each", "table Heaviest pairs", "columnheader Waiting", "rowheader 3", "group Figures", "group Colour by", "StaticText node02"} {
		if !strings.Contains(all.String(), text) {
			t.Errorf("nothing is read as %q in\n%s", text, all.String())
		}
	}
}

// wantKeys chooses a cell and a bar with the arrow keys.
func wantKeys(t *testing.T, p *webtest.Page) {
	t.Helper()
	p.Eval(`document.getElementById("matrix").focus()`, nil)
	for _, key := range []string{"ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowUp"} {
		p.Press(key)
	}
	want(t, p, `document.getElementById("matrix-out").textContent.startsWith("From rank 1 to rank 3: ")`, true)
	p.Eval(`document.getElementById("bars").focus()`, nil)
	p.Press("End")
	p.Press("ArrowLeft")
	p.Until(`/^Rank 2: <?\d+ % computing, <?\d+ % waiting; <?\d+ % of its communication hidden \(\w+\)$/.test(document.getElementById("bars-out").textContent)`)
	p.Press("Enter")
	p.Until(`document.querySelector("#ranks tbody tr.chosen")?.cells[0].textContent === "2"`)
}

// wantThemes has the page dark as the system is, unless the user chooses otherwise.
func wantThemes(t *testing.T, p *webtest.Page) {
	t.Helper()
	const back = `getComputedStyle(document.body).backgroundColor`
	light, dark := "rgb(244, 246, 249)", "rgb(15, 20, 27)"
	want(t, p, back, light)
	p.Prefer("prefers-color-scheme", "dark")
	want(t, p, back, dark)
	choose := func(theme string) {
		p.Eval(fmt.Sprintf(`(() => {const e = document.getElementById("theme"); e.value = %q; e.dispatchEvent(new Event("change"))})()`, theme), nil)
	}
	choose("light")
	want(t, p, back, light)
	p.Eval(`window.isOld = true; location.reload()`, nil)
	p.Until(`!window.isOld && document.getElementById("theme")?.value === "light" && ` + answered) // it is remembered
	want(t, p, back, light)
	choose("")
	want(t, p, back, dark)
	want(t, p, contrast, "")
	p.Prefer("prefers-color-scheme", "light")
	want(t, p, back, light)
	want(t, p, contrast, "")
}

// contrast is the first text whose contrast with what is behind it is less than WCAG 2.2 asks for
// (4.5), "" if there is none.
const contrast = `(() => {
	const parse = (c) => c.match(/[\d.]+/g).map(Number);
	const light = (c) => [0.2126, 0.7152, 0.0722].reduce((s, w, i) => {const x = c[i] / 255; return s + w * (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)}, 0);
	const behind = (e) => {for (; e; e = e.parentElement) {const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c}};
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const e = walker.currentNode.parentElement;
		if (!walker.currentNode.data.trim() || e.closest("[aria-hidden=true], noscript, script, option, .skip")) continue;
		const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
		if ((a + 0.05) / (b + 0.05) < 4.5) return walker.currentNode.data + ": " + (a + 0.05) / (b + 0.05);
	}
	return "";
})()`

// wantPause stops what moves, and goes on.
func wantPause(t *testing.T, p *webtest.Page) {
	t.Helper()
	p.Eval(`document.getElementById("pause").click()`, nil)
	want(t, p, `document.getElementById("pause").ariaPressed + " " + document.getElementById("status-text").textContent`, "true Paused; the job goes on")
	p.Drawn()
	var before string
	p.Eval(`document.getElementById("tile-messages").textContent`, &before)
	// Two more pictures come; the hub makes one a second.
	p.Eval(`new Promise((done) => {const s = new EventSource("events"); let n = 0; s.addEventListener("job", () => {if (++n > 3) {s.close(); done()}})})`, nil)
	p.Drawn()
	want(t, p, `document.getElementById("tile-messages").textContent`, before)
	p.Eval(`document.getElementById("pause").click()`, nil)
	p.Until(fmt.Sprintf(`document.getElementById("tile-messages").textContent !== %q`, before))
}

// A job that does not go on is not called running: the page says so at its top, with why, and takes
// that back when the job goes on.
func TestPageOfStuckJob(t *testing.T) {
	effort.Need(t, effort.Usual, "it needs a browser")
	b := webtest.Start(t)
	f := stencilJob(4, 2, 2, 400)
	const report = "deadlock: no rank can go on\n  circle of 2 ranks: 0 -> 1 -> 0"
	f.stuck = report
	s, _ := served(t, f, "127.0.0.1:0")
	p := b.Open(s.URL(), 1000, 800)
	p.Until(`document.getElementById("status-text").textContent === "The job does not go on; the report says why"`)
	want(t, p, `document.getElementById("stuck-text").textContent`, report)
	p.Until(answered)
	want(t, p, `document.querySelector("main").firstElementChild.id`, "stuck")
	want(t, p, `document.getElementById("stuck").offsetHeight > 0`, true)
	f.change(func(f *fake) { f.stuck = "" })
	p.Until(`document.getElementById("status-text").textContent === "Running"`)
	want(t, p, `document.getElementById("stuck").offsetHeight`, 0)
	wantNoTrouble(t, p)
}

// noteLabels makes a page note what it writes on canvases.
const noteLabels = `(() => {const proto = CanvasRenderingContext2D.prototype, write = proto.fillText;
	window.labels = [];
	proto.fillText = function (text, x, y) {labels.push({On: this.canvas.id, Text: text, X: x, Y: y, Align: this.textAlign, Wide: this.measureText(text).width, Room: this.canvas.width}); write.call(this, text, x, y)}})()`

// label is a text on a canvas, around X or before it.
type label struct {
	On, Text, Align  string
	X, Y, Wide, Room float64
}

func (l *label) span() (left, right float64) {
	if l.Align == "right" {
		return l.X - l.Wide, l.X
	}
	return l.X - l.Wide/2, l.X + l.Wide/2
}

// Ranks that were spawned have names that say so, in every list and beside the matrix, where none
// is cut off or runs into the next.
func TestPageOfSpawnedRanks(t *testing.T) {
	effort.Need(t, effort.Usual, "it needs a browser")
	const first, spawned = 2, 33
	b := webtest.Start(t)
	f := stencilJob(first+spawned+1, 4, 8, 100)
	for r := first; r < first+spawned; r++ {
		f.ranks[r].Job, f.ranks[r].Rank = "1.10", r-first
		f.events = append(f.events, view.Event{Number: len(f.events), At: f.start, Rank: r, World: r - first, Job: "1.10", Text: string(launch.Joined)})
	}
	f.ranks[first+spawned] = view.Rank{Vacant: true}
	f.onAsk = func(f *fake) { f.stencil(4, 40000); f.ranks[first+spawned] = view.Rank{Vacant: true} }
	s, _ := served(t, f, "127.0.0.1:0")
	p := b.Open(s.URL(), 1200, 1000)
	p.Until(answered + ` && document.querySelectorAll("#ranks tbody tr").length === 35 && document.querySelectorAll("#queues tbody tr").length === 35`)
	p.Eval(noteLabels, nil)
	names := []string{"0", "1"}
	for r := range spawned {
		names = append(names, fmt.Sprintf("%d of spawned 1.10", r))
	}
	for _, table := range []string{"ranks", "queues"} {
		want(t, p, fmt.Sprintf(`[...document.querySelectorAll("#%s tbody tr")].map((tr) => tr.cells[0].textContent).join()`, table), strings.Join(names, ","))
	}
	p.Eval(`document.getElementById("from").value = 4; document.getElementById("to").value = 5; document.getElementById("to").dispatchEvent(new Event("input")); document.getElementById("row").open = true`, nil)
	p.Until(`document.getElementById("matrix-out").textContent.startsWith("From rank 2 of spawned 1.10 to rank 3 of spawned 1.10: ")`)
	p.Until(`document.getElementById("sends-c").textContent === "What rank 2 of spawned 1.10 sends, since the start" && document.querySelectorAll("#sends tbody tr")[34].cells[0].textContent === "rank 32 of spawned 1.10"`)
	want(t, p, `document.querySelectorAll("#sends tbody tr")[35].cells[0].textContent`, "no rank")
	want(t, p, `[...document.querySelectorAll("#pairs tbody tr")].some((tr) => /^rank \d+ of spawned 1\.10$/.test(tr.cells[1].textContent))`, true)
	want(t, p, `[...document.querySelectorAll("#events .who")].some((e) => e.textContent === "rank 32 of spawned 1.10")`, true)
	p.Eval(`document.getElementById("bars").focus()`, nil)
	p.Press("End")
	p.Press("ArrowLeft")
	p.Until(`document.getElementById("bars-out").textContent.startsWith("Rank 32 of spawned 1.10: ")`)
	p.Drawn()
	wantLabels(t, p)
	p.Resize(1200, 2400)
	keep(t, p, "spawned-light", true)
	wantNoTrouble(t, p)
}

// wantLabels looks at the labels of the last picture of each canvas.
func wantLabels(t *testing.T, p *webtest.Page) {
	t.Helper()
	p.Eval(`labels.length = 0; document.getElementById("to").dispatchEvent(new Event("input")); document.getElementById("bars").dispatchEvent(new KeyboardEvent("keydown", {key: "Home"}))`, nil)
	p.Until(`labels.some((l) => l.On === "bars") && labels.some((l) => l.On === "matrix")`)
	var all []label
	p.Eval(`labels`, &all)
	type axis struct{ on, align string }
	ends, found := make(map[axis]float64), make(map[axis]int)
	for _, l := range all {
		if l.Text != "0" && !strings.HasPrefix(l.Text, "1.10:") {
			continue
		}
		left, right := l.span()
		if left < 0 || right > l.Room {
			t.Errorf("%q on %s lies from %v to %v of %v", l.Text, l.On, left, right, l.Room)
		}
		at := axis{l.On, l.Align}
		if found[at]++; l.Align == "center" && l.Text != "0" && left < ends[at]+2 {
			t.Errorf("%q on %s begins at %v, and the one before ends at %v", l.Text, l.On, left, ends[at])
		}
		ends[at] = right
	}
	for _, at := range []axis{{"matrix", "right"}, {"matrix", "center"}, {"bars", "center"}} {
		if found[at] < 5 {
			t.Errorf("%d labels of ranks on %s, aligned %s", found[at], at.on, at.align)
		}
	}
}
