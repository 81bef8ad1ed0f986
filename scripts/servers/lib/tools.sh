# Programs that some tests start: compilers, interpreters and a browser of this machine, the Python packages of gRPC and of the client in
# Python, programs that judge the API reference, and what merchants run: Bruno and older releases of Node.js. Compilers, interpreters and the
# browser are packages of this Debian release.

python_dir=$servers_dir/python
python_packages='grpcio==1.85.1 grpcio-tools==1.85.1 grpcio-status==1.85.1 Flask==3.1.3 mypy==1.18.2'

install_tools() {
  install_debian_package bash
  install_debian_package curl
  install_debian_package openssl
  install_debian_package cc gcc
  install_debian_package mount
  install_debian_package php php-cli
  # Neither package has a command of its name.
  php -m | grep -qx curl || install_debian_package php-curl
  [ -f /usr/share/php/Nyholm/Psr7/autoload.php ] || install_debian_package php-nyholm-psr7
  install_debian_package python3
  python3 -m pip --version >/dev/null 2>&1 || install_debian_package pip3 python3-pip
  install_debian_package chromium
  install_debian_package jq
  install_debian_package tmux
  install_debian_package zsh
  install_debian_package fish
}

# install_packages FOLDER PACKAGES WHAT DOWNLOAD: fills a folder by a function, unless it has these packages. Their record is written last: an
# install that was interrupted is repeated.
install_packages() {
  [ "$(cat "$1/multihub-packages" 2>/dev/null)" = "$2" ] && return
  run_step "$3" "$network_hint" "$log_dir/install-$(basename "$1").log" with_retry "$4" &&
    printf '%s\n' "$2" >"$1/multihub-packages"
}

# The packages are in a folder of their own, which the tests add to the path of Python.
install_python_packages() {
  install_packages "$python_dir" "$python_packages" 'Python packages' download_python_packages
}
download_python_packages() {
  rm -rf "$python_dir"
  # shellcheck disable=SC2086
  python3 -m pip install --quiet --disable-pip-version-check --no-input --target "$python_dir" $python_packages
}

reference_tools_dir=$servers_dir/reference-tools
schemathesis_package='schemathesis==4.32.5'
# openapi-typescript needs TypeScript 5; the project itself is checked with a later one.
types_packages='openapi-typescript@7.13.0 typescript@5.9.3'

# Schemathesis sends requests that it generates from the API reference; openapi-typescript makes types of it.
install_reference_tools() {
  install_packages "$reference_tools_dir" "$schemathesis_package $types_packages" 'Schemathesis and openapi-typescript' \
    download_reference_tools
}
download_reference_tools() {
  rm -rf "$reference_tools_dir"
  mkdir -p "$reference_tools_dir" "$servers_dir/bin"
  # shellcheck disable=SC2086
  python3 -m pip install --quiet --disable-pip-version-check --no-input --target "$reference_tools_dir/python" \
    "$schemathesis_package" &&
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$reference_tools_dir" $types_packages &&
    ln -sf "$reference_tools_dir/node_modules/.bin/openapi-typescript" "$servers_dir/bin/openapi-typescript" &&
    printf '#!/bin/sh\nPYTHONPATH="%s${PYTHONPATH:+:$PYTHONPATH}" exec python3 "%s" "$@"\n' \
      "$reference_tools_dir/python" "$reference_tools_dir/python/bin/schemathesis" >"$servers_dir/bin/schemathesis" &&
    chmod +x "$servers_dir/bin/schemathesis"
}

client_tools_dir=$servers_dir/client-tools
# With its packages the command line of Bruno has 276 MB: too much for the packages of the project, which every developer installs.
bruno_package='@usebruno/cli@4.1.0'
# The newest release of each older line that the client in TypeScript supports.
node_releases='18.20.8 20.20.2 22.23.5'

# bin/bru, bin/node-18, bin/node-20 and bin/node-22.
install_client_tools() {
  install_packages "$client_tools_dir" "$bruno_package $node_releases" 'Bruno and older releases of Node.js' \
    download_client_tools
}
download_client_tools() {
  local release name machine=x64 packages=()
  [ "$(uname -m)" != aarch64 ] || machine=arm64
  rm -rf "$client_tools_dir"
  mkdir -p "$client_tools_dir" "$bin_dir"
  for release in $node_releases; do packages+=("node-${release%%.*}@npm:node-linux-$machine@$release"); done
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$client_tools_dir" \
    "$bruno_package" "${packages[@]}" || return
  ln -sf "$client_tools_dir/node_modules/.bin/bru" "$bin_dir/bru" || return
  for release in $node_releases; do
    name=node-${release%%.*}
    ln -sf "$client_tools_dir/node_modules/$name/bin/node" "$bin_dir/$name" || return
  done
}
