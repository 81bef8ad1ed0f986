# kustomize assembles the manifests of deploy/, which the tests read. kube-apiserver and etcd are for
# deploy/check-on-api-server.ts.

kustomize_module=sigs.k8s.io/kustomize/kustomize/v5
kustomize_version=v5.8.0
kubernetes_version=1.35.4

install_kustomize() { install_go_program kustomize "$kustomize_module" "$kustomize_version"; }

# The package starts a service when it is installed, so its program is only unpacked.
install_etcd() {
  [ -x "$bin_dir/etcd" ] && return
  run_step 'etcd unpacked' "$network_hint" "$log_dir/install-etcd.log" with_retry unpack_etcd
}
unpack_etcd() {
  local folder=$servers_dir/etcd-package
  rm -rf "$folder" && mkdir -p "$folder" && cd "$folder" || return
  apt-get download etcd-server || return
  dpkg-deb -x etcd-server_*.deb . && mkdir -p "$bin_dir" && mv usr/bin/etcd "$bin_dir/etcd" && rm -rf "$folder"
}

install_kube_apiserver() {
  [ "$(cat "$bin_dir/kube-apiserver.version" 2>/dev/null)" = "$kubernetes_version" ] && return
  command -v go >/dev/null || fail 'go was not found; it is needed to build kube-apiserver' 'install Go 1.26 or later'
  run_step "kube-apiserver $kubernetes_version built" "$network_hint" "$log_dir/install-kube-apiserver.log" build_kube_apiserver
  printf '%s\n' "$kubernetes_version" >"$bin_dir/kube-apiserver.version"
}
# The module of Kubernetes replaces others by folders of its repository, which `go install` refuses. They are published
# as modules too, with the same minor version, so a module of our own replaces them by those.
build_kube_apiserver() {
  local folder=$servers_dir/kube-apiserver-module module
  rm -rf "$folder" && mkdir -p "$folder/tools" "$bin_dir" && cd "$folder" || return
  module=$(go mod download -json "k8s.io/kubernetes@v$kubernetes_version" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
  {
    echo 'module kube-apiserver'
    grep '^go ' "$module"
    echo "require k8s.io/kubernetes v$kubernetes_version"
    grep -oE 'k8s.io/[a-z-]+ => \./staging' "$module" |
      sed "s#\\(k8s.io/[a-z-]*\\) => .*#replace \\1 => \\1 v0.${kubernetes_version#1.}#"
  } >go.mod
  printf 'package tools\n\nimport _ "k8s.io/kubernetes/cmd/kube-apiserver/app"\n' >tools/tools.go
  go mod tidy -e || return
  CGO_ENABLED=0 go build -mod=mod -o "$bin_dir/kube-apiserver" k8s.io/kubernetes/cmd/kube-apiserver && rm -rf "$folder"
}
