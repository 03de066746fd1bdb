package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// browser is a headless Chromium, spoken to through a pair of pipes: one JSON
// message after the other, each with a zero byte behind it.
type browser struct {
	cmd     *exec.Cmd
	profile string
	out     *os.File
	in      *bufio.Reader
	session string
	id      int
}

// open starts one. Whoever gets it closes it.
func open(ctx context.Context, program string) (*browser, error) {
	profile, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return nil, err
	}
	b := &browser{profile: profile}
	if err := b.start(ctx, program); err != nil {
		b.close()
		return nil, fmt.Errorf("open %s: %w", program, err)
	}
	return b, nil
}

func (b *browser) start(ctx context.Context, program string) error {
	theirIn, out, err := os.Pipe()
	if err != nil {
		return err
	}
	in, theirOut, err := os.Pipe()
	if err != nil {
		return err
	}
	b.out, b.in = out, bufio.NewReaderSize(in, 1<<20)
	cmd := exec.CommandContext(ctx, program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-first-run", "--no-proxy-server", "--user-data-dir="+b.profile, "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // its descriptors 3 and 4
	err = cmd.Start()
	theirIn.Close()  //nolint:errcheck // the browser's now, or nobody's
	theirOut.Close() //nolint:errcheck // likewise
	if err != nil {
		return err
	}
	b.cmd = cmd
	return b.attach()
}

// attach makes a page that is ours to drive.
func (b *browser) attach() error {
	var target struct{ TargetID string }
	if err := b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var attached struct{ SessionID string }
	if err := b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.session = attached.SessionID
	return b.call("Page.enable", nil, nil)
}

func (b *browser) close() {
	if b.cmd != nil {
		b.cmd.Process.Kill() //nolint:errcheck // it may have ended
		b.cmd.Wait()         //nolint:errcheck // it was killed
	}
	os.RemoveAll(b.profile) //nolint:errcheck // a directory of temporary files
}

// message is an answer, or an event.
type message struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// call sends a command and waits for its answer; events in between are passed over.
func (b *browser) call(method string, params any, answer any) error {
	b.id++
	command := map[string]any{"id": b.id, "method": method}
	if params != nil {
		command["params"] = params
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	text, err := json.Marshal(command)
	if err != nil {
		return err
	}
	if _, err := b.out.Write(append(text, 0)); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	for {
		text, err := b.in.ReadBytes(0)
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		var got message
		if err := json.Unmarshal(text[:len(text)-1], &got); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		switch {
		case got.Method == "Runtime.exceptionThrown":
			return fmt.Errorf("the page: %s", got.Params)
		case got.ID != b.id:
		case got.Error != nil:
			return fmt.Errorf("%s: %s", method, got.Error.Message)
		case answer != nil:
			return json.Unmarshal(got.Result, answer)
		default:
			return nil
		}
	}
}

// evaluate is the value of an expression in the page, or of the promise that it is.
func (b *browser) evaluate(expression string, value any) error {
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	if err := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer); err != nil {
		return err
	}
	if answer.ExceptionDetails != nil {
		return fmt.Errorf("%s: %s", expression, answer.ExceptionDetails)
	}
	return json.Unmarshal(answer.Result.Value, value)
}

// until waits for the page to be so, twenty seconds at the most.
func (b *browser) until(ctx context.Context, condition string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	looks := time.NewTicker(100 * time.Millisecond)
	defer looks.Stop()
	for {
		var so bool
		if err := b.evaluate(condition, &so); err != nil || so {
			return err
		}
		select {
		case <-looks.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", condition, ctx.Err())
		}
	}
}

// press presses a key, as somebody without a mouse does.
func (b *browser) press(key string, code int, text string) error {
	for _, kind := range []string{"keyDown", "keyUp"} {
		params := map[string]any{"type": kind, "key": key, "windowsVirtualKeyCode": code}
		if kind == "keyDown" && text != "" {
			params["text"] = text
		}
		if err := b.call("Input.dispatchKeyEvent", params, nil); err != nil {
			return err
		}
	}
	return nil
}

// visit opens a page in a window that wide, in one of the two schemes of colours.
func (b *browser) visit(url string, width int, scheme string) error {
	media := []map[string]string{{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}
	return errors.Join(
		b.call("Runtime.enable", nil, nil),
		b.window(width, 900),
		b.call("Emulation.setEmulatedMedia", map[string]any{"features": media}, nil),
		b.call("Page.navigate", map[string]any{"url": url}, nil),
	)
}

// followed opens the live page, waits for its news, goes to the hottest key by the
// keyboard and follows it, and takes a picture of the upper 2000 pixels.
func (b *browser) followed(ctx context.Context, url string, width int, scheme string) ([]byte, error) {
	if err := b.visit(url, width, scheme); err != nil {
		return nil, err
	}
	// Rates need two snapshots.
	if err := b.until(ctx, `typeof before !== "undefined" && before !== null && document.querySelector(".keys button") !== null`); err != nil {
		return nil, err
	}
	if err := b.followByKeyboard(ctx); err != nil {
		return nil, err
	}
	var cut []string
	if err := b.evaluate(`[...document.querySelectorAll("svg text")].map((e) => e.textContent).filter((text) => text.endsWith("…"))`, &cut); err != nil {
		return nil, err
	}
	if len(cut) > 0 {
		return nil, fmt.Errorf("no box has room for %q", cut)
	}
	return b.picture(width, 2000, 64)
}

// picture is one of the page as it is, so high at the most, of that many colours.
func (b *browser) picture(width, high, colours int) ([]byte, error) {
	var size struct{ Wide, High float64 }
	if err := b.evaluate(`({wide: document.documentElement.scrollWidth, high: document.documentElement.scrollHeight})`, &size); err != nil {
		return nil, err
	}
	if size.Wide > float64(width) {
		return nil, fmt.Errorf("the page is %v px wide", size.Wide)
	}
	// What is outside of the window may not have been painted.
	if err := b.window(width, min(int(size.High), high)); err != nil {
		return nil, err
	}
	var painted bool
	if err := b.evaluate(`scrollTo(0, 0); new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, &painted); err != nil {
		return nil, err
	}
	var shot struct{ Data string }
	if err := b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot); err != nil {
		return nil, err
	}
	picture, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		return nil, err
	}
	return shrink(picture, colours)
}

// window is that wide and high, in pixels.
func (b *browser) window(width, height int) error {
	return b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
}

// followByKeyboard tabs until a hot key has the focus, and presses Enter.
func (b *browser) followByKeyboard(ctx context.Context) error {
	for range 40 {
		if err := b.press("Tab", 9, ""); err != nil {
			return err
		}
		var key string
		if err := b.evaluate(`document.activeElement.dataset.key || ""`, &key); err != nil {
			return err
		}
		if key == "" {
			continue
		}
		if err := b.press("Enter", 13, "\r"); err != nil {
			return err
		}
		if err := b.until(ctx, `document.querySelectorAll("#events tbody tr").length > 0`); err != nil {
			return fmt.Errorf("%s has the focus, and Enter does not follow it: %w", key, err)
		}
		return nil
	}
	return fmt.Errorf("no hot key is reached with Tab")
}
