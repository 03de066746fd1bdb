package main

import (
	"fmt"
	"os"
)

// Exit statuses of the program itself. Those above 2 are what shells use, so
// that people recognise them.
const (
	exitFailed        = 1
	exitUsage         = 2
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignalled     = 128 // plus the number of the signal
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 {
		switch args[0] {
		case "init":
			os.Exit(runInstall(args[1:]))
		case "results":
			os.Exit(runCollector(args[1:]))
		}
	}
	os.Exit(runStep(args))
}

func runStep(args []string) int {
	signals := listen() // first: process 1 without a handler is deaf to SIGTERM
	s, err := parseStep(args)
	if err != nil {
		complainf("%v", err)
		// As far as the flags were read, the later steps learn of it: else they
		// would wait until the run times out.
		return s.record(neverRan(exitUsage, ""))
	}
	return s.run(signals)
}

func runInstall(args []string) int {
	if len(args) != 2 {
		complainf("usage: entrypoint init SOURCE DESTINATION")
		return exitUsage
	}
	if err := install(args[0], args[1]); err != nil {
		complainf("copying the entrypoint: %v", err)
		return exitFailed
	}
	return 0
}

// complainf tells whoever reads the step's log. What the program has to say is
// mixed with what the command says there, hence the prefix.
func complainf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "entrypoint: "+format+"\n", args...)
}
