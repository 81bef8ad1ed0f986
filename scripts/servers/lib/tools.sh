# Programs that some tests start: compilers, interpreters and a browser of this machine, and the Python packages of gRPC. Unlike the
# servers, the programs are installed as packages of this Debian release.

python_dir=$servers_dir/python
python_packages='grpcio==1.85.1 grpcio-tools==1.85.1 grpcio-status==1.85.1'

install_tools() {
  install_debian_package bash
  install_debian_package curl
  install_debian_package openssl
  install_debian_package cc gcc
  install_debian_package mount
  install_debian_package php php-cli
  install_debian_package python3
  install_debian_package chromium
  install_debian_package jq
  install_debian_package tmux
}

# The packages are in a folder of their own, which the tests add to the path of Python. The record is written last: an
# install that was interrupted is repeated.
install_python_packages() {
  [ "$(cat "$python_dir/multihub-packages" 2>/dev/null)" = "$python_packages" ] && return
  python3 -m pip --version >/dev/null 2>&1 || install_debian_package pip3 python3-pip
  run_step 'Python packages of gRPC' "$network_hint" "$log_dir/install-python.log" with_retry download_python_packages
}
download_python_packages() {
  rm -rf "$python_dir"
  # shellcheck disable=SC2086
  python3 -m pip install --quiet --disable-pip-version-check --no-input --target "$python_dir" $python_packages &&
    printf '%s\n' "$python_packages" >"$python_dir/multihub-packages"
}
