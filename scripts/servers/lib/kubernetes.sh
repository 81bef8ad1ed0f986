# kustomize assembles the manifests of deploy/, and promtool checks their alerts, in the tests. kube-apiserver and etcd are
# for deploy/check-on-api-server.ts.

kustomize_module=sigs.k8s.io/kustomize/kustomize/v5
kustomize_version=v5.8.0
kubernetes_version=1.35.4

install_kustomize() { install_go_program kustomize "$kustomize_module" "$kustomize_version"; }

install_promtool() { install_program_of_package promtool prometheus; }
install_etcd() { install_program_of_package etcd etcd-server; }

# install_program_of_package PROGRAM PACKAGE: the package starts a service when it is installed, so it is only unpacked.
install_program_of_package() {
  [ -x "$bin_dir/$1" ] && return
  run_step "$1 unpacked" "$network_hint" "$log_dir/install-$1.log" with_retry unpack_program "$1" "$2"
}
unpack_program() {
  local folder=$servers_dir/$2-package
  rm -rf "$folder" && mkdir -p "$folder" "$bin_dir" && cd "$folder" || return
  apt-get download "$2" || { apt_get update && apt-get download "$2"; } || return
  dpkg-deb -x "$2"_*.deb . && mv "usr/bin/$1" "$bin_dir/$1" && rm -rf "$folder"
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
