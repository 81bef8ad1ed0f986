# kustomize: assembles the manifests of deploy/, which the tests read.

kustomize_module=sigs.k8s.io/kustomize/kustomize/v5
kustomize_version=v5.8.0

install_kustomize() { install_go_program kustomize "$kustomize_module" "$kustomize_version"; }
