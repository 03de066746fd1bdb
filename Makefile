# Millrace. `make` alone prints what it can do.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

BUILD := .build
GO    ?= go
# Examples of Tekton's, where they are at hand; see `make acceptance`.
DIR  ?= examples
LIST ?=
# How long each fuzz target is tried.
FUZZTIME ?= 20s
# Which storms are simulated.
SEEDS ?= 100
FROM  ?= 1
SEED  ?=
REPLAYS ?= 20
ONLY  ?=
# The tag, how far from it, and the commit: v0.1.0-0-gabcdef1
VERSION ?= $(shell git describe --tags --always --long --abbrev=7 --dirty 2>/dev/null || echo unknown)
LINT    := $(CURDIR)/$(BUILD)/bin/golangci-lint run --config $(CURDIR)/.golangci.yml ./...
export CGO_ENABLED ?= 0

##@ The two to begin with

.PHONY: demo
demo: ## bring up a cluster, install Millrace, run an example, show what happened (KUBECONFIG and IMAGE: on yours)
	@internal/demo/demo.sh

.PHONY: test
test: ## everything that gates a change: lint, unit tests under -race, end-to-end on a real cluster
	@internal/e2e/gate.sh

.PHONY: verify
verify: test ## everything there is, however long: test, simulations, every fuzz target, the cluster's own test
	$(MAKE) sim SEEDS=500
	$(MAKE) sim-plans
	$(MAKE) sim-planted
	$(MAKE) fuzz
	$(MAKE) e2e-faults
	$(MAKE) -C devcluster selftest

##@ Parts of it

.PHONY: build
build: ## the controller and the entrypoint, for this machine, into .build/bin
	@mkdir -p $(BUILD)/bin
	$(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BUILD)/bin/millrace .
	$(GO) build -trimpath -ldflags "-s -w" -o $(BUILD)/bin/entrypoint ./entrypoint

.PHONY: unit
unit: ## unit tests under the race detector; no cluster needed
	CGO_ENABLED=1 $(GO) test -race -timeout 20m ./... # against what hangs; a slow machine needs its time
	$(MAKE) sim-few
	$(GO) -C internal/tools/crdgen test ./...
	$(GO) -C internal/tools/manifests test ./...
	$(MAKE) rules
	$(GO) -C internal/image test ./...
	$(GO) -C bench test ./...
	$(MAKE) -C devcluster test

.PHONY: lint
lint: $(BUILD)/bin/golangci-lint ## golangci-lint, gofmt and the table of imports
	$(LINT) --build-tags e2e
	cd internal/tools/crdgen && $(LINT)
	cd internal/tools/manifests && $(LINT)
	cd internal/image && $(LINT)
	cd bench && $(LINT)
	cd devcluster && $(LINT)
	$(GO) test ./internal/lint

$(BUILD)/bin/golangci-lint: internal/tools/golangci/go.mod internal/tools/golangci/go.sum
	@echo "building golangci-lint (a minute or two, once)"
	@mkdir -p $(@D)
	$(GO) -C internal/tools/golangci build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: crds
crds: ## write the CRDs' YAML anew from the Go types
	$(GO) -C internal/tools/crdgen run . -out $(CURDIR)/crds

.PHONY: image
image: ## the image (controller and entrypoint, amd64 and arm64; or PLATFORM=linux/arm64) as an OCI layout
	$(GO) -C internal/image run . -out $(CURDIR)/$(BUILD)/image -version $(VERSION) $(if $(PLATFORM),-platform $(PLATFORM))

.PHONY: manifests
manifests: ## the overlays of manifests/, a file each, into .build/manifests (IMAGE=REGISTRY/millrace:TAG, RUNBOOKS=https://…/docs/operating.md)
	$(GO) -C internal/tools/manifests run . -out $(CURDIR)/$(BUILD)/manifests -version $(VERSION) $(if $(IMAGE),-image $(IMAGE)) $(if $(RUNBOOKS),-runbooks '$(RUNBOOKS)')

.PHONY: rules
rules: $(BUILD)/bin/promtool ## promtool's tests of the alerts: each fires when it should, says what it should, and keeps still
	@$(GO) -C internal/tools/manifests run . -out $(CURDIR)/$(BUILD)/rules -version $(VERSION) >/dev/null
	cd $(BUILD)/rules && ../bin/promtool check rules millrace.rules && ../bin/promtool test rules rules_test.yaml

# Without the clouds' SDKs, which only service discovery needs.
$(BUILD)/bin/promtool: internal/tools/promtool/go.mod internal/tools/promtool/go.sum
	@echo "building promtool (a minute or two, once)"
	@mkdir -p $(@D)
	$(GO) -C internal/tools/promtool build -tags remove_all_sd -o $(CURDIR)/$@ github.com/prometheus/prometheus/cmd/promtool

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (20s) each
	@for p in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
			echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$p; \
		done; \
	done

# The last line that a simulation prints is what it came to.
SIMULATION = $(GO) test -count=1 -timeout 0 -v -run '$(1)' . | grep --line-buffered -v -E '^(=== RUN|PASS$$|--- (PASS|SKIP)|ok  )|_test.go:[0-9]+: .*ask for others$$'

.PHONY: sim
sim: ## the whole program in a simulated cluster: SEEDS (100) storms of faults from FROM (1) on; or one, SEED=7; or PLAN='what a failure printed'
	@$(if $(PLAN)$(SEED),SEED=$(SEED) $(call SIMULATION,^TestOnePlan$$),SEEDS=$(SEEDS) FROM=$(FROM) $(call SIMULATION,InAStorm))

.PHONY: sim-plans
sim-plans: ## a crash at every write, restarts with a stale cache, unseen changes, some of them others each day (PLANS=every: all; ONLY=pipeline)
	@PLANS=$(or $(PLANS),all) ONLY='$(ONLY)' $(call SIMULATION,AFaultAtAny)

.PHONY: sim-few
sim-few: ## a few of all simulations, others each day, and what takes too long under -race: those of make test
	@$(call SIMULATION,InAStorm|TheSameEachTime|AFaultAtAny|Scenarios|ShippedRights|StaysFixed|IsEverInside|AreEverInside|BeforeItExpires)

.PHONY: sim-replay
sim-replay: ## ten seeds (SEEDS, FROM), played REPLAYS (20) times each: the same each time
	@REPLAYS=$(REPLAYS) SEEDS=$(if $(filter file,$(origin SEEDS)),10,$(SEEDS)) FROM=$(FROM) $(call SIMULATION,TheSameEachTime)

.PHONY: sim-planted
sim-planted: ## faults planted in the program, each of which the simulation must find
	PLANTED=all $(GO) test -count=1 -timeout 0 -v -run EachPlanted ./internal/simulation/planted

.PHONY: e2e-faults
e2e-faults: ## what can go wrong with a real server and process, a scenario each (SCENARIO=name, PLAN=plan, LIST=1)
	@internal/e2efaults/faults.sh

.PHONY: e2e-install
e2e-install: ## install, run, upgrade (FROM=COMMIT) and remove by the commands of the README and docs/operating.md, on a cluster of its own
	@internal/operate/operate.sh install

.PHONY: e2e-kill
e2e-kill: ## kill -9 the leader every EVERY (20s) for MINUTES (10) under RUNS (50) at a time: each run is done once; hand-over times
	@internal/operate/operate.sh kill

.PHONY: bench
bench: ## the chain beside client-go's, one table (some minutes); ONLY='sync|queue' for a part of it
	@$(GO) run -C bench . $(if $(ONLY),-only '$(ONLY)')

##@ A cluster on this machine

.PHONY: cluster-up
cluster-up: ## start a real Kubernetes on loopback (NAME=dev PORT=6443)
	@$(MAKE) -C devcluster up

.PHONY: cluster-down
cluster-down: ## stop it and remove what it kept
	@$(MAKE) -C devcluster down

.PHONY: dialogue
dialogue: ## the exchanges that the model API server is held to, with a real one (UPDATE=1: record them anew)
	@internal/simulation/dialogue/play.sh $(if $(UPDATE),-update)

##@ On a cluster (KUBECONFIG)

.PHONY: acceptance
acceptance: ## apply each file of DIR (or those that LIST names), wait, say pass or fail
	@$(GO) run ./internal/acceptance -dir "$(DIR)" $(if $(LIST),-list "$(LIST)")

.PHONY: acceptance-validation
acceptance-validation: ## does the cluster accept and refuse what CASES says, and say where
	@$(GO) build -o $(BUILD)/bin/acceptance ./internal/acceptance
	@$(BUILD)/bin/acceptance -cases "$(or $(CASES),internal/acceptance/testdata/validation.json)"

.PHONY: e2e
e2e: ## the end-to-end tests alone, on a devcluster that has Millrace (AUDIT_LOG: its audit log)
	$(GO) test -count=1 -tags e2e -v ./internal/e2e

.PHONY: bench-e2e
bench-e2e: ## a one-step TaskRun beside the same bare pod: medians of 20
	@$(GO) run ./internal/bench $(if $(AUDIT_LOG),-audit "$(AUDIT_LOG)")

.PHONY: bench-scale
bench-scale: ## many runs with instant pods on a cluster of its own, one table (ONLY=completed, RUNS=200, KEEP=1, WRITE=1)
	@internal/scale/scale.sh

.PHONY: bench-shards
bench-shards: ## one, two and four replicas that share 200 namespaces: caches, CPU, and who wrote what (RUNS=2000, KEEP=1)
	@SHARDS=1 internal/scale/scale.sh

##@ To learn from

.PHONY: pictures
pictures: build ## the pictures of docs: the live page, and the dashboard after four minutes of a model cluster (needs Chromium)
	$(GO) -C internal/tools/manifests build -o $(CURDIR)/$(BUILD)/bin/dashboard ./dashboard
	$(GO) run ./internal/pictures

.PHONY: tour
tour: ## one object's life through every stage of the chain (STEP=1: Enter by Enter; WEB=1: as a page)
	@$(GO) run ./examples/tour $(if $(STEP),-step) $(if $(WEB),-web localhost:8042)

.PHONY: demo-foo
demo-foo: ## the Foo controller of the textbook, on our stages, beside a cluster of its own
	@examples/foo/demo.sh

.PHONY: clean
clean: ## remove what make built here
	rm -rf $(BUILD)

.PHONY: help
help: ## print this
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  %-21s %s\n", $$1, $$2}' Makefile
