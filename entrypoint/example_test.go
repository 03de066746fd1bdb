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
	defer os.RemoveAll(dir)
	in := func(name string) string { return filepath.Join(dir, name) }

	test := exec.Command(program, "-wait_file", in("run/0/out"), "-post_file", in("run/1/out"),
		"-termination_path", in("test"), "-entrypoint", "echo", "--", "testing")
	test.Stdout = os.Stdout
	_ = test.Start()

	build := exec.Command(program, "-post_file", in("run/0/out"),
		"-termination_path", in("build"), "-entrypoint", "echo", "--", "building")
	build.Stdout = os.Stdout
	fmt.Println(build.Run())
	fmt.Println(test.Wait())
	// Output:
	// building
	// <nil>
	// testing
	// <nil>
}
