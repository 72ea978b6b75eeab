//go:build linux && !fitmpi_portable

package webtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Page is a tab.
type Page struct {
	t       testing.TB
	b       *Browser
	session string
	trouble []string // errors that it wrote to its console; guarded by b.mu, as is the next
	cut     bool     // something of it did not load, which is not its fault
}

// Open opens a page of this width and height in CSS pixels.
func (b *Browser) Open(url string, width, height int) *Page {
	b.t.Helper()
	var target struct{ TargetID string }
	fatal(b.t, b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target))
	var session struct{ SessionID string }
	fatal(b.t, b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session))
	p := &Page{t: b.t, b: b, session: session.SessionID}
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network", "Accessibility", "DOM"} {
		p.do(domain+".enable", nil, nil)
	}
	p.Resize(width, height)
	for errorText := changed; errorText == changed; {
		var done struct{ ErrorText string }
		p.do("Page.navigate", map[string]any{"url": url}, &done)
		errorText = done.ErrorText
	}
	return p
}

// changed is what Chromium says of what it was loading when an interface of this machine came or
// went, as those do that tests of other packages make: it begins nothing of that again.
const changed = "net::ERR_NETWORK_CHANGED"

// maybeReload loads a page again of which something did not load for that. It had not begun yet.
func (p *Page) maybeReload() {
	p.t.Helper()
	p.b.mu.Lock()
	cut := p.cut
	if p.cut = false; cut {
		p.trouble = nil
	}
	p.b.mu.Unlock()
	if cut {
		p.do("Page.reload", nil, nil)
	}
}

// Resize sets the size of the page in CSS pixels.
func (p *Page) Resize(width, height int) {
	p.t.Helper()
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Prefer sets a media feature, such as prefers-color-scheme, to a value.
func (p *Page) Prefer(feature, value string) {
	p.t.Helper()
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": feature, "value": value}}}, nil)
}

func (p *Page) do(method string, params map[string]any, result any) {
	p.t.Helper()
	fatal(p.t, p.b.call(p.session, method, params, result))
}

// happenedLocked keeps what a page without faults does not say.
func (p *Page) happenedLocked(method string, data json.RawMessage) {
	var e struct {
		Type  string
		Args  []struct{ Value any }
		Entry struct{ Level, Text, URL string }
		Ex    struct{ Text string } `json:"exceptionDetails"`
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch {
	case method == "Runtime.exceptionThrown":
		p.trouble = append(p.trouble, string(data))
	case method == "Runtime.consoleAPICalled" && (e.Type == "error" || e.Type == "warning"):
		p.trouble = append(p.trouble, fmt.Sprint(e.Args))
	case method == "Log.entryAdded" && strings.Contains(e.Entry.Text, changed):
		p.cut = p.cut || !strings.HasSuffix(e.Entry.URL, "/events") // which a page asks for again by itself
	case method == "Log.entryAdded" && (e.Entry.Level == "error" || e.Entry.Level == "warning"):
		p.trouble = append(p.trouble, e.Entry.Text+" "+e.Entry.URL)
	}
}

// Trouble returns the errors and warnings of the page so far: exceptions, files that did not load,
// breaches of its policy.
func (p *Page) Trouble() []string {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return slices.Clone(p.trouble)
}

// Eval evaluates an expression of JavaScript in the page; a promise is awaited.
func (p *Page) Eval(expression string, result any) {
	p.t.Helper()
	if err := p.eval(expression, result); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
}

func (p *Page) eval(expression string, result any) error {
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	err := p.b.call(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	switch {
	case err != nil:
		return err
	case r.ExceptionDetails != nil:
		return fmt.Errorf("%s", r.ExceptionDetails)
	case result == nil || r.Result.Value == nil:
		return nil
	}
	return json.Unmarshal(r.Result.Value, result)
}

// Text returns what can be read in the first element that a selector finds.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	var s string
	p.Eval(fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector), &s)
	return s
}

// Until waits until an expression of JavaScript is true.
func (p *Page) Until(expression string) {
	p.t.Helper()
	var err error
	for end := time.Now().Add(failsafe); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		p.maybeReload()
		var is bool
		if err = p.eval("!!("+expression+")", &is); err == nil && is { // while a page loads there may be nothing to ask
			return
		}
	}
	var text string
	p.eval("document.body.innerText", &text)
	p.t.Fatalf("waited %v for %s (%v); trouble: %q; the page:\n%s", failsafe, expression, err, p.Trouble(), text)
}

// Drawn waits until the page has drawn what it knew when this was called.
func (p *Page) Drawn() {
	p.t.Helper()
	p.Eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))", nil)
}

// Press presses a key, such as Tab, ArrowRight or Enter.
func (p *Page) Press(key string) {
	p.t.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[key]
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		p.do("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
	}
}

// Screenshot returns a picture (PNG) of the page: of what is in view, or all of it.
func (p *Page) Screenshot(all bool) []byte {
	p.t.Helper()
	var shot struct{ Data string }
	p.do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": all}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	fatal(p.t, err)
	return data
}

// Node is an element as assistive technology sees it.
type Node struct{ Role, Name string }

// Accessibility returns the elements that assistive technology sees, in order.
func (p *Page) Accessibility() []Node {
	p.t.Helper()
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value any }
		}
	}
	p.do("Accessibility.getFullAXTree", nil, &tree)
	var nodes []Node
	for _, n := range tree.Nodes {
		if !n.Ignored {
			role, _ := n.Role.Value.(string)
			name, _ := n.Name.Value.(string)
			nodes = append(nodes, Node{role, name})
		}
	}
	return nodes
}
