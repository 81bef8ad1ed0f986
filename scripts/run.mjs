/**
 * Runs a TypeScript file of the project under the pinned Node.js, and first installs what is missing, so that a fresh
 * clone needs nothing but some Node.js with npm. Plain JavaScript on purpose: whatever Node.js the machine has must
 * be able to read it.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RUNTIME_OPTIONS } from './runtime.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const runtime = join(root, 'node_modules', 'node', 'bin', 'node')

function fail(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

function readPackages(...path) {
  try {
    return JSON.parse(readFileSync(join(root, ...path), 'utf8')).packages
  } catch {
    return undefined
  }
}

/**
 * npm writes down what it installed when it has done so. That record is compared, and no mark of ours: whoever
 * installed by hand must not have the packages replaced under a running system. Optional ones depend on the machine.
 */
function installed() {
  const wanted = readPackages('package-lock.json') ?? fail('package-lock.json is missing or damaged.')
  const present = readPackages('node_modules', '.package-lock.json') ?? {}
  return Object.entries(wanted).every(
    ([path, { optional, version }]) => path === '' || optional || present[path]?.version === version,
  )
}

/** What npm prints goes to standard error: standard output belongs to the program. */
function install() {
  if (installed()) return
  process.stderr.write('Installing the dependencies (once, about a minute)...\n')
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: false,
  })
  if (npm.error || npm.status !== 0) {
    fail('The dependencies could not be installed. Run "npm ci" here to see why, then try again.')
  }
}

/** Where install scripts are refused, the runtime's own was not run: it is done here, for this one package only. */
function ensureRuntime() {
  if (works()) return
  process.stderr.write('Installing the Node.js runtime (once)...\n')
  const folder = dirname(dirname(runtime))
  spawnSync(process.execPath, ['installArchSpecificPackage.js'], { cwd: folder, stdio: ['ignore', 2, 2] })
  if (works()) return
  fail(
    `The pinned Node.js runtime is missing (${runtime}). npm was not allowed to install it: run "npm rebuild node", ` +
      'allow its install script, and try again.',
  )
}

function works() {
  return existsSync(runtime) && spawnSync(runtime, ['--version']).status === 0
}

/** The child hears from us what we hear, and ends when we do, also when we are killed: its channel to us closes. */
function run(file, parameters) {
  const path = `${join(root, 'node_modules', '.bin')}:${process.env.PATH}`
  const child = spawn(runtime, [...RUNTIME_OPTIONS, join(root, file), ...parameters], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PATH: path },
  })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    if (signal !== null && signal !== 'SIGTERM') process.stderr.write(`The program was ended by ${signal}.\n`)
    process.exit(code ?? (signal === 'SIGTERM' ? 143 : 1))
  })
  child.on('error', (error) => fail(`The program could not be started: ${error.message}`))
  watchParent(child)
}

/** npm that is killed cannot tell us. Nobody else watches for it, and a system without a launcher holds its ports. */
function watchParent(child) {
  if (!process.env.npm_lifecycle_event) return
  const first = lineage()
  setInterval(() => {
    if (lineage() !== first) child.kill('SIGTERM')
  }, 250).unref()
}

/** Who started us. npm does it through a shell, which outlives it: then npm too (where the system shows it). */
function lineage() {
  const parent = process.ppid
  try {
    const stat = readFileSync(`/proc/${parent}/stat`, 'utf8')
    const [, name, grandparent] = /\((.*)\) \S (\d+)/.exec(stat) ?? []
    return name?.endsWith('sh') ? `${parent} ${grandparent}` : `${parent}`
  } catch {
    return `${parent}`
  }
}

const [file, ...parameters] = process.argv.slice(2)
if (!file) fail('usage: node scripts/run.mjs FILE.ts [ARGUMENT...]')
install()
ensureRuntime()
run(file, parameters)
