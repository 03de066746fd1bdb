# shellcheck shell=bash
# The keys of a cluster; sourced after lib.sh. One authority signs the two
# serving certificates; the components and people come with tokens.

pki=$state/pki

# make_keys makes them once; the addresses are those inside the node's network.
make_keys() { # PORT
  [ ! -e "$pki/done" ] || return 0
  mkdir -p "$pki"
  chmod 700 "$pki"
  make_authority
  make_certificate apiserver /CN=kube-apiserver serverAuth \
    IP:127.0.0.1,IP:10.96.0.1,IP:10.99.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local
  make_certificate kubelet /CN=localhost serverAuth IP:127.0.0.1,IP:10.99.0.1,DNS:localhost
  make_certificate kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client clientAuth
  make_key service-account
  openssl ec -in "$pki/service-account.key" -pubout -out "$pki/service-account.pub" 2>/dev/null
  : >"$pki/tokens.csv"
  make_user admin system:masters "https://127.0.0.1:$1" "$state/kubeconfig"
  local component
  for component in system:kube-controller-manager system:kube-scheduler; do
    make_user "$component" "" https://127.0.0.1:6443 "$pki/${component#system:}.kubeconfig"
  done
  make_user system:node:localhost system:nodes https://127.0.0.1:6443 "$pki/kubelet.kubeconfig"
  touch "$pki/done"
}

make_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$pki/$1.key" 2>/dev/null; }

make_authority() {
  make_key ca
  openssl req -x509 -new -key "$pki/ca.key" -subj "/CN=devcluster $NAME" -days 365 -out "$pki/ca.crt" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,digitalSignature,cRLSign
}

make_certificate() { # NAME SUBJECT USAGE [ALTERNATIVE NAMES]
  make_key "$1"
  openssl req -new -key "$pki/$1.key" -subj "$2" |
    openssl x509 -req -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -days 365 -out "$pki/$1.crt" \
      -extfile <(printf '%s\n' "extendedKeyUsage=$3" ${4:+"subjectAltName=$4"}) 2>/dev/null
}

make_user() { # USER GROUPS SERVER KUBECONFIG
  local token
  token=$(openssl rand -hex 16)
  echo "$token,$1,$1${2:+,\"$2\"}" >>"$pki/tokens.csv"
  (umask 077 && cat >"$4") <<Y
apiVersion: v1
kind: Config
clusters:
- {name: $NAME, cluster: {server: "$3", certificate-authority-data: $(base64 -w0 <"$pki/ca.crt")}}
users:
- {name: $1, user: {token: $token}}
contexts:
- {name: $NAME, context: {cluster: $NAME, user: "$1"}}
current-context: $NAME
Y
}
