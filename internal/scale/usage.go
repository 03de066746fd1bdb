package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// memory is what the kernel says of a process: bytes that it has in memory, and the
// most that it has had.
type memory struct{ now, peak float64 }

func (p *process) memory() (m memory, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return m, err
	}
	if m.now, err = kibibytes(text, "VmRSS:"); err != nil {
		return m, err
	}
	m.peak, err = kibibytes(text, "VmHWM:")
	return m, err
}

// kibibytes is the line of proc_pid_status(5) with that name, in bytes.
func kibibytes(status []byte, name string) (float64, error) {
	for line := range bytes.Lines(status) {
		rest, is := bytes.CutPrefix(line, []byte(name))
		if !is {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"), 64)
		return n * 1024, err
	}
	return 0, fmt.Errorf("no line %s in the status of a process", name)
}

// cpu is the processor time that the process has had.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return processorTime(text)
}

// tick is the unit of utime and stime: USER_HZ, which is a hundred on every machine
// that Go runs on.
const tick = time.Second / 100

// processorTime is utime and stime of proc_pid_stat(5). The name of the program, in
// parentheses, may hold spaces: fields are counted behind it.
func processorTime(stat []byte) (time.Duration, error) {
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	fields := strings.Fields(rest)
	const state, utime, stime = 3, 14, 15
	if len(fields) <= stime-state {
		return 0, fmt.Errorf("the stat of a process has %d fields behind its name", len(fields))
	}
	var sum time.Duration
	for _, field := range []string{fields[utime-state], fields[stime-state]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the stat of a process: %w", err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}
