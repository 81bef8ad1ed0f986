/**
 * Completes package-lock.json after `npm install` with a registry that does not serve the optional packages of other
 * platforms. npm leaves those packages out, and `npm ci` then refuses the lock file. The added entries name the platform
 * of each package, so that npm installs the right one and skips the others.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const SYSTEMS = ['android', 'darwin', 'win32', 'freebsd', 'openbsd', 'netbsd', 'openharmony', 'sunos', 'aix']
const PROCESSORS = ['arm64', 'x64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'arm']

const path = 'package-lock.json'
const lock = JSON.parse(readFileSync(path, 'utf8'))
let added = 0
for (const [owner, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  if (owner === '') continue
  for (const [name, range] of Object.entries(optionalDependencies)) {
    const own = `${owner}/node_modules/${name}`
    const shared = `node_modules/${name}`
    const processor = PROCESSORS.find((one) => name.includes(one))
    if (lock.packages[own] || lock.packages[shared] || !processor) continue
    const system = SYSTEMS.find((one) => name.includes(one)) ?? 'linux'
    const version = range.replace(/^[\^~]/, '')
    lock.packages[shared] = {
      version,
      cpu: [processor],
      ...(dev ? { dev } : {}),
      optional: true,
      os: [system],
    }
    added += 1
  }
}
const sorted = Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1))
lock.packages = Object.fromEntries(sorted)
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
process.stderr.write(`${added} packages of other platforms were added to ${path}\n`)
