// Package webtest drives a headless Chromium for tests of the live page, by the DevTools protocol
// over two pipes (--remote-debugging-pipe): no port that others could reach, and no module that
// every user of ours would have to trust.
package webtest
