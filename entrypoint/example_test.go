package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Two steps of one pod, started in the wrong order.
func Example() {
	dir, _ := os.MkdirTemp("", "pod")
	defer func() { _ = os.RemoveAll(dir) }()
	in := func(name string) string { return filepath.Join(dir, name) }

	test := exec.Command(program, "-wait_file", in("run/0/out"), "-post_file", in("run/1/out"),
		"-termination_path", in("message-test"), "-stdout_path", in("log"),
		"-entrypoint", "echo", "--", "testing")
	build := exec.Command(program, "-post_file", in("run/0/out"),
		"-termination_path", in("message-build"), "-stdout_path", in("log"),
		"-entrypoint", "echo", "--", "building")

	_ = test.Start()
	fmt.Println("build:", build.Run())
	fmt.Println("test:", test.Wait())
	log, _ := os.ReadFile(in("log"))
	fmt.Print(string(log))
	// Output:
	// build: <nil>
	// test: <nil>
	// building
	// testing
}
