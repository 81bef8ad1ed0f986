import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { extname, join, resolve } from 'node:path'
import { NODE_OPTIONS } from '../../scripts/node-options.mjs'

/**
 * `node deploy/image/assemble.ts ROOT` writes what the image contains below ROOT: the product in `ROOT/app`, the pinned
 * Node.js in `ROOT/nodejs/bin/node`, and the compiled code in `ROOT/cache`. Two assemblies of one commit differ in the cache only, which
 * therefore is a layer of its own; `provenance.ts` names the files. The Dockerfile runs it with the root `/`; without a container engine the
 * same folder can be started where it is. It cannot be moved afterwards: the cache knows its files by their paths.
 */
interface BillOfMaterials {
  readonly components: readonly object[]
  readonly serialNumber?: string
  readonly metadata?: { readonly timestamp?: string }
}

const PROJECT = resolve(import.meta.dirname, '../..')
const PRODUCT = ['main.ts', 'package.json', 'package-lock.json', 'LICENSE'] as const
const FOLDERS = [
  'app',
  'apps/cli',
  'apps/console/bundle',
  'gateway',
  'gen',
  'lib',
  'operations',
  'services',
] as const
/** Files of the project that only tests use. */
const TEST_FILE = /\.(test|suite|fixture|child)\.ts$/
/** The unprivileged user of the final image, who owns nothing in it. */
const NONROOT = 65_532
/** The time of all files, which says nothing about them. */
const FILE_TIME = new Date('2026-01-01T00:00:00Z')
/** Loads the code of every role and of the command line, and ends. */
const LOAD_ROLES =
  'const { loadRoles } = await import("./app/roles.ts"); const { ROLES } = await import("./lib/role/role.ts"); await loadRoles(ROLES); await import("./apps/cli/run-verb.ts"); (await import("node:module")).flushCompileCache()'

/** Folders of packages that their users never load. */
const UNUSED_FOLDERS = new Set([
  'test',
  'tests',
  'bench',
  'benchmark',
  'benchmarks',
  'example',
  'examples',
  'docs',
])

/**
 * Whether nothing at run time reads a file of a package: types, maps, the sources that it was compiled from, texts, and
 * native code for other versions of Node.js and other C libraries. Licences stay.
 */
function neverRuns(name: string): boolean {
  if (/^(licen[cs]e|notice|copying)/i.test(name)) return false
  return /\.(map|md|markdown|[cm]?tsx?|flow|ya?ml|c|cc|cpp|h|gyp|abi\d+\.\w+\.node|musl\.node)$/i.test(name)
}

const [root_word] = process.argv.slice(2)
if (root_word === undefined) {
  process.stderr.write('usage: node deploy/image/assemble.ts ROOT\n')
  process.exit(1)
}
const root = resolve(root_word)
const app = join(root, 'app')
step('copy the product', copyProduct)
step('install the dependencies', () => npm(app, ['ci', '--omit=dev', '--ignore-scripts']))
step('install Node.js', installNode)
step('list the components', writeComponents)
step('remove what never runs', () => prune(join(app, 'node_modules')))
step('make every assembly equal', () => {
  for (const name of ['app', 'nodejs']) makeEqual(join(root, name))
})
step('compile', warmCompileCache)

function step(name: string, work: () => void): void {
  process.stderr.write(`image: ${name}\n`)
  work()
}

function copyProduct(): void {
  mkdirSync(app, { recursive: true })
  for (const name of [...PRODUCT, ...FOLDERS])
    cpSync(join(PROJECT, name), join(app, name), {
      recursive: true,
      filter: (path) => !TEST_FILE.test(path) && extname(path) !== '.md',
    })
  // The command line, for kubectl exec and jobs: the image has no env to find a Node.js with.
  mkdirSync(join(app, 'bin'))
  const command = `#!/nodejs/bin/node ${NODE_OPTIONS[0]}\nimport '../apps/cli/main.ts'\n`
  writeFileSync(join(app, 'bin/multihub'), command, { mode: 0o755 })
}

/** The package of Node.js is pinned with its hash in the lock file of `scripts/runtime`, like every other package. */
function installNode(): void {
  const folder = join(root, 'nodejs/install')
  mkdirSync(folder, { recursive: true })
  for (const name of ['package.json', 'package-lock.json'])
    cpSync(join(PROJECT, 'scripts/runtime', name), join(folder, name))
  npm(folder, ['ci', '--ignore-scripts'])
  const installed = join(folder, 'node_modules', `node-linux-${process.arch}`)
  mkdirSync(join(root, 'nodejs/bin'), { recursive: true })
  cpSync(join(installed, 'bin/node'), join(root, 'nodejs/bin/node'))
  cpSync(join(installed, 'LICENSE'), join(root, 'nodejs/LICENSE'))
}

/**
 * Writes a bill of materials (CycloneDX): every installed package and Node.js, with licence and hash. npm would miss the
 * packages for development, so the product forgets them. The product remembers its commit, which `build-info.ts` reads.
 */
function writeComponents(): void {
  const folder = join(root, 'nodejs/install')
  const { devDependencies, scripts, ...manifest } = JSON.parse(
    readFileSync(join(app, 'package.json'), 'utf8'),
  )
  const commit = process.env['COMMIT']?.trim()
  const built = { ...manifest, ...(commit ? { commit } : {}) }
  writeFileSync(join(app, 'package.json'), JSON.stringify(built, undefined, 2))
  rmSync(join(app, 'package-lock.json'))
  const [product, runtime] = [app, folder].map((path): BillOfMaterials => {
    const words = ['sbom', '--sbom-format=cyclonedx']
    const { status, stdout } = spawnSync('npm', words, { cwd: path, stdio: ['ignore', 'pipe', 2] })
    if (status !== 0) fail(`npm ${words.join(' ')} failed in ${path}`)
    return JSON.parse(stdout.toString())
  })
  // The number and the time of npm would differ in each assembly.
  const { serialNumber, metadata, ...lasting } = product ?? { components: [] }
  const { timestamp, ...described } = metadata ?? {}
  const components = [...lasting.components, ...(runtime?.components ?? [])]
  const bill = { ...lasting, metadata: described, components }
  writeFileSync(join(app, 'sbom.cdx.json'), JSON.stringify(bill))
  rmSync(folder, { recursive: true })
}

function prune(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (!lstatSync(path).isDirectory()) {
      if (neverRuns(name)) rmSync(path)
    } else if (UNUSED_FOLDERS.has(name)) rmSync(path, { recursive: true })
    else prune(path)
  }
  if (readdirSync(folder).length === 0) rmdirSync(folder)
}

/** Gives a folder and its files modes and times that follow neither from the builder's umask nor from the moment. */
function makeEqual(path: string): void {
  const stat = lstatSync(path)
  if (stat.isDirectory()) for (const name of readdirSync(path)) makeEqual(join(path, name))
  const runs = stat.isDirectory() || (stat.mode & 0o100) !== 0
  if (!stat.isSymbolicLink()) chmodSync(path, runs ? 0o755 : 0o644)
  lutimesSync(path, FILE_TIME, FILE_TIME)
}

/** As the final user, because the cache is kept by user. A builder without that right makes it for itself. */
function warmCompileCache(): void {
  const cache = join(root, 'cache')
  const { status } = spawnSync(
    join(root, 'nodejs/bin/node'),
    [...NODE_OPTIONS, '--input-type=module', '--eval', LOAD_ROLES],
    { cwd: app, env: { NODE_COMPILE_CACHE: cache }, stdio: ['ignore', 2, 2], ...ownerOf(cache) },
  )
  if (status !== 0) fail('the roles could not be loaded')
}

/** Makes the cache's folder. Returns whom the compiler runs as: the final user, when this process may choose. */
function ownerOf(cache: string): { readonly uid?: number; readonly gid?: number } {
  mkdirSync(cache)
  if (process.getuid?.() !== 0) return {}
  chownSync(cache, NONROOT, NONROOT)
  return { uid: NONROOT, gid: NONROOT }
}

function npm(folder: string, words: readonly string[]): void {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  const { status } = spawnSync('npm', [...words, ...quiet], { cwd: folder, stdio: ['ignore', 2, 2] })
  if (status !== 0) fail(`npm ${words.join(' ')} failed in ${folder}`)
}

function fail(sentence: string): never {
  process.stderr.write(`image: ${sentence}\n`)
  process.exit(1)
}
