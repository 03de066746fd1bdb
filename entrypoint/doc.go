// Entrypoint is the program that every step of a pod runs under. Kubernetes
// starts all containers of a pod at once; this program makes them take turns,
// and records what each of them did where the controller can read it.
//
//	container step-build                        container step-test
//	┌────────────────────────────┐              ┌────────────────────────────┐
//	│ entrypoint ──starts──▶ go  │              │ entrypoint      (waits)    │
//	│     │                      │              │     ▲                      │
//	└─────┼──────────────────────┘              └─────┼──────────────────────┘
//	      │ writes /tekton/run/0/out ───inotify───────┘
//	      │ writes /tekton/steps/step-build/exitCode
//	      ▼
//	/tekton/termination ──kubelet──▶ pod status ──watch──▶ the controller
//
// It talks to nobody: files in volumes that the containers of one pod share are
// all there is. The flags, the files and the termination message are Tekton's,
// so that whatever reads pods made by Tekton reads ours.
//
// # What it promises
//
//  1. Order. A command starts after every file of -wait_file is there, and at
//     once then: it waits by inotify, also for directories that are not there
//     yet. Where the kernel gives out no inotify instance (128 per user is a
//     usual limit, and a full node has more steps) it looks every 50 ms.
//
//  2. Failure stops the line. Where `<wait_file>.err` appears instead, the
//     command never starts: Reason Skipped, exit status 1, `.err` handed on.
//
//  3. The exit status is the command's own, 128+n where signal n ended it, 127
//     where there is no such command or interpreter, 126 where it cannot be
//     executed, 2 where the flags are wrong. A command that does not start is
//     a broken step, for -on_error continue too.
//
//  4. With -on_error continue a failed command lets the next step run: the real
//     exit code is recorded, the program's own status is 0.
//
//  5. -timeout counts from the start of the command, not from the start of the
//     container. At its end the command and its process group are killed: Reason
//     TimeoutExceeded, exit status 1. What has left the group ends with the
//     container, which this program's own end is: the kernel kills what is left of
//     its PID namespace, and where the pod's containers share one, the runtime kills
//     what is left in the container's cgroup.
//
//  6. Signals that kubelet and people send reach the command's whole process
//     group. While waiting, one that would end a process ends the wait, as
//     Skipped.
//
//  7. As process 1 of its container it reaps the orphans it is handed, and never
//     mistakes the end of one for the end of the command.
//
//  8. Results are the declared names only, from regular files only; no link is
//     followed, so that one step cannot make another one publish its secrets.
//     Their bytes are kept as they are, the last newline too (a byte that is not
//     UTF-8 cannot be in JSON and becomes U+FFFD).
//
//  9. The termination message has at most 4096 bytes, or as many as -max_message
//     says. Where results do not fit the step fails and says which; nothing is cut
//     short.
//
//  10. A command that writes the termination message by itself is heard for
//     declared results. What is ours to say (when it started, why it ended) it
//     cannot say for us.
//
//  11. The directory of -working_dir is made when it is the step's turn, and
//     belongs to the step's user.
//
//  12. The post file comes last: who sees it finds the message and the exit code
//     complete. Where it cannot be written at all (a full disk) the termination
//     message says so, Reason NextStepNotTold, and the controller ends the pod.
//
//  13. What -when says is looked at when it is the step's turn. Where it does not
//     hold the command does not run: Reason Skipped, exit status 0, and the next
//     step has its turn.
//
//  14. Results of earlier steps are put in by -arg and -env, in one go: what they
//     hold is never looked at for references. One that was not written, or is not
//     of the kind that is asked for, breaks the step before its command starts.
//
//  15. With -stay, for the script of a sidecar, a command that has ended well is not
//     the end of the container: that comes with a signal, and is a good one. Started
//     again after a bad end, it runs the script anew.
//
//  16. Credentials are laid out when it is the step's turn, for its user alone, below
//     /tekton/creds and, where that can be written, HOME. What is in a secret is
//     told to nobody: not the log, not the termination message.
//
//  17. With -compress a message that would be too large is compressed, and is too
//     large only if it still is. As `entrypoint results`, in a container of its own,
//     the program prints all results when the steps have ended, of any size up to
//     -max_size, by the rules of claim 8; of larger ones it prints how large they are.
//
// It does not promise that background processes outlive the command: when this
// program ends its container ends, as it would without this program. Nor, without
// -max_message, that a message reaches the controller whole: kubelet keeps 12 KiB
// per pod, so in a pod of more than three containers less than 4096 bytes of each.
//
// # Goroutines
//
// One reads inotify while the step waits, and is waited for before the command
// starts. One sits in wait4 while the command runs. One for each of -stdout_path
// and -stderr_path copies. Signals and the timeout are handled by the main
// goroutine, in the one select of [step.execute].
//
// # Why it looks as it does
//
// A copy of it is in every pod, mounted or copied, so size, memory and start-up
// time are spent once per step. Nothing but the standard library is linked, and
// of that neither net nor os/exec: the program has 2.7 MB (a test holds
// it under 3). encoding/json, fmt and flag were weighed: leaving all three out
// saves 0.6 MB and 0.3 ms, and would cost us a parser of our own for bytes that
// a hostile step writes.
package main
