# The words of a step of the simulation (internal/simulation/kubelet/step.go), done for
# real. $0 is the name of the step. Beware: "$" and "(" together would be Kubernetes's.
until=0 attempt=0 sleep=0s exit=0 hang=
for word in "$@"; do
  value=${word#*=}
  case $word in
    sleep=*) sleep=$value ;;
    exit=*) exit=$value ;;
    hang) hang=1 ;;
    attempt=*) attempt=$value ;;
    until=*) until=$value ;;
    result=*) printf %s "${value#*=}" >"/tekton/results/${value%%=*}" ;;
    step-result=*) printf %s "${value#*=}" >"/tekton/steps/step-$0/results/${value%%=*}" ;;
  esac
done
case $sleep in
  *[0-9]ms) sleep 1 ;;
  *) sleep `echo "$sleep" | sed 's/[hms]/& /g'` ;;
esac
if [ "$until" = 0 ] || [ "$attempt" -lt "$until" ]; then
  [ -z "$hang" ] || sleep 1h
  exit "$exit"
fi
