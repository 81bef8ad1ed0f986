/**
 * Runs a TypeScript file of the project with Node.js 24 or newer, and first installs what is missing, so that a fresh
 * clone needs nothing but some Node.js with npm:
 *
 *   node scripts/run.mjs [--dev] [NODE_OPTION...] FILE [ARGUMENT...]
 *
 * `--dev` also installs what only tests and checks use. This file is plain JavaScript, because the Node.js of the
 * machine must be able to read it.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NODE_OPTIONS } from './node-options.mjs'

const NODE_MAJOR_MIN = 24
const root = dirname(dirname(fileURLToPath(import.meta.url)))

function fail(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

/** Standard output belongs to the program, so npm prints to standard error. */
function npm(folder, parameters) {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  const { error, status } = spawnSync('npm', [...parameters, ...quiet], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
  })
  return error === undefined && status === 0
}

function readPackages(...path) {
  try {
    return JSON.parse(readFileSync(join(root, ...path), 'utf8')).packages
  } catch {
    return undefined
  }
}

/**
 * Compares the lock file with the record that npm keeps of its installation. Optional packages depend on the machine,
 * so they are not compared.
 */
function comparePackages(with_dev) {
  const locked = Object.entries(
    readPackages('package-lock.json') ?? fail('package-lock.json is missing or damaged'),
  )
  const installed = readPackages('node_modules', '.package-lock.json') ?? {}
  const has_dev = locked.some(([path, { dev }]) => dev && installed[path] !== undefined)
  const needed = locked.filter(
    ([path, { optional, devOptional, dev }]) =>
      path !== '' && !optional && !devOptional && (with_dev || !dev),
  )
  const is_there = ([path]) => installed[path] !== undefined
  const is_outdated = needed.some(
    ([path, { version }]) => installed[path] && installed[path].version !== version,
  )
  return {
    is_complete: needed.every(is_there) && !is_outdated,
    can_add: needed.some(is_there) && !is_outdated,
    has_dev,
  }
}

/**
 * Installs the packages without running scripts of theirs: none needs one, lmdb comes built. When some are there and none
 * is outdated, npm only adds the missing ones, so that a system that runs from this folder keeps its files.
 */
function installPackages(with_dev) {
  const { is_complete, can_add, has_dev } = comparePackages(with_dev)
  if (is_complete) return
  process.stderr.write(
    `Installing ${with_dev ? 'what the tests need' : 'the dependencies'} (once, up to a minute)...\n`,
  )
  const words = [
    ...(can_add ? ['install', '--no-save', '--ignore-scripts'] : ['ci', '--ignore-scripts']),
    ...(with_dev || has_dev ? [] : ['--omit=dev']),
  ]
  if (!npm(root, words))
    fail(`the packages could not be installed: run "npm ${words.join(' ')}" here to see why`)
}

/** The Node.js to run with: the Node.js of this machine when it is new enough, otherwise the one of `scripts/runtime`. */
function findNode() {
  if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN) return process.execPath
  const folder = join(root, 'scripts', 'runtime')
  const path = `node_modules/node-${process.platform}-${process.arch}`
  const node = join(folder, path, 'bin', 'node')
  const { version } = readPackages('scripts', 'runtime', 'package-lock.json')?.[path] ?? {}
  if (version === undefined) {
    fail(
      `Node.js ${process.versions.node} is too old: install Node.js ${NODE_MAJOR_MIN} or newer, and try again`,
    )
  }
  if (!runs(node, version)) {
    process.stderr.write(
      `Installing Node.js ${version} (once), because this one is ${process.versions.node}...\n`,
    )
    npm(folder, ['ci', '--ignore-scripts'])
  }
  if (runs(node, version)) return node
  return fail(
    `Node.js ${version} could not be installed: install Node.js ${NODE_MAJOR_MIN} or newer, and try again`,
  )
}

function runs(node, version) {
  if (!existsSync(node)) return false
  return String(spawnSync(node, ['--version']).stdout).trim() === `v${version}`
}

/** Compiled code is kept here between starts: a second start takes about 0.7 of the processor time of a first one. */
const compile_cache = join(root, 'node_modules', '.cache', 'compile')

/** The child gets every signal that this process gets, and ends when this process ends: its channel closes then. */
function run(node, parameters) {
  const path = [dirname(node), join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  const child = spawn(node, [...NODE_OPTIONS, ...parameters], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { NODE_COMPILE_CACHE: compile_cache, ...process.env, PATH: path },
  })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    if (signal !== null && signal !== 'SIGTERM') process.stderr.write(`the program was ended by ${signal}\n`)
    process.exit(code ?? (signal === 'SIGTERM' ? 143 : 1))
  })
  child.on('error', (error) => fail(`the program could not be started: ${error.message}`))
  stopWithParent(child)
}

/** Stops the child when npm is killed: npm cannot pass that on, and a system without a launcher would hold its ports. */
function stopWithParent(child) {
  if (!process.env.npm_lifecycle_event) return
  const first = ancestors()
  setInterval(() => {
    if (ancestors() !== first) child.kill('SIGTERM')
  }, 250).unref()
}

/** The parent process; npm starts programs through a shell that outlives npm, so its parent too where that is visible. */
function ancestors() {
  const parent = process.ppid
  try {
    const stat = readFileSync(`/proc/${parent}/stat`, 'utf8')
    const [, name, grandparent] = /\((.*)\) \S (\d+)/.exec(stat) ?? []
    return name?.endsWith('sh') ? `${parent} ${grandparent}` : `${parent}`
  } catch {
    return `${parent}`
  }
}

const words = process.argv.slice(2)
const with_dev = words[0] === '--dev'
const parameters = with_dev ? words.slice(1) : words
const at = parameters.findIndex((word) => !word.startsWith('--'))
if (at < 0) fail('usage: node scripts/run.mjs [--dev] [NODE_OPTION...] FILE [ARGUMENT...]')
installPackages(with_dev)
parameters[at] = join(root, parameters[at])
run(findNode(), parameters)
