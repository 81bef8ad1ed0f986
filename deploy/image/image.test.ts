import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { randomHex } from '#lib/base/crypto/random.ts'
import { NODE_OPTIONS } from '../../scripts/node-options.mjs'
import { ANY_PORTS } from '../../test/support/free-port.ts'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { testWith } from '../../test/support/needs.ts'
import { IS_WHOLE } from '../../test/support/property-runs.ts'
import { skipWithout } from '../../test/support/skip.ts'
import { listFiles } from './provenance.ts'

/** What the base image adds: the C and C++ libraries and the certificates. */
const BASE = { bytes: 25e6, packed_bytes: 11e6 }
const DOCKERFILE = readFileSync(join(import.meta.dirname, 'Dockerfile'), 'utf8')
const NONROOT = 65_532
/** Licences without conditions on the code that uses the package. */
const PERMISSIVE = /^(0BSD|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|ISC|MIT|Unlicense)$/

/** One entry of the bill of materials. */
interface Component {
  readonly name: string
  readonly version: string
  readonly licenses?: readonly { readonly license?: { readonly id: string }; readonly expression?: string }[]
  readonly hashes?: readonly { readonly content: string }[]
}

/** An image takes two installations of packages and a minute, so only CI assembles one, and who sets MULTIHUB_CI=1 here. */
const testOfImage = IS_WHOLE ? test : test.skip
if (!IS_WHOLE) process.stderr.write('skipped: the image is assembled where MULTIHUB_CI=1 is set\n')

let root: string
let source: string
let files: readonly string[]
let assembled: readonly string[]
beforeAll(async () => {
  if (!IS_WHOLE) return
  root = await mkdtemp(join(tmpdir(), 'multihub-image-'))
  source = await mkdtemp(join(tmpdir(), 'multihub-image-source-'))
  copyAdmitted(source)
  // The final user reads it.
  chmodSync(root, 0o755)
  await promisify(execFile)(process.execPath, [join(source, 'deploy/image/assemble.ts'), root], {
    timeout: HANG_LIMIT_MS,
  })
  files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  assembled = readdirSync(root).sort()
}, HANG_LIMIT_MS)
afterAll(() =>
  Promise.all([root, source].filter(Boolean).map((folder) => rm(folder, { recursive: true, force: true }))),
)

testOfImage('the image is at most 200 MB, and at most 70 MB compressed', () => {
  const bytes = files.reduce((sum, file) => sum + statSync(join(root, file)).size, BASE.bytes)
  expect(bytes).toBeLessThan(200e6)
  const packed = execFileSync('sh', ['-c', `tar c -C '${root}' . | gzip | wc -c`], { encoding: 'utf8' })
  expect(Number(packed) + BASE.packed_bytes).toBeLessThan(70e6)
})

testOfImage('the image has the pinned Node.js, started with the options of the project', () => {
  const version = execFileSync(join(root, 'nodejs/bin/node'), ['--version'], { encoding: 'utf8' })
  const { optionalDependencies } = JSON.parse(readFileSync('scripts/runtime/package.json', 'utf8'))
  expect(version.trim()).toBe(`v${optionalDependencies[`node-linux-${process.arch}`]}`)
  expect(entrypoint()).toEqual(['/nodejs/bin/node', ...NODE_OPTIONS, '/app/main.ts'])
})

testOfImage('the image has the command line, started with its own Node.js', () => {
  const command = readFileSync(join(root, 'app/bin/multihub'), 'utf8')
  expect(command).toMatch(/^#!\/nodejs\/bin\/node --disable-warning=ExperimentalWarning\n/)
  expect(statSync(join(root, 'app/bin/multihub')).mode & 0o111).toBe(0o111)
  const words = [join(root, 'app/bin/multihub'), '--help']
  expect(execFileSync(join(root, 'nodejs/bin/node'), words, { encoding: 'utf8' })).toContain('refunds')
})

testOfImage('the image has the code of all roles compiled, and nothing of tests and development', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const unused = Object.keys(packages).filter((path) => packages[path].dev)
  expect(unused.length).toBeGreaterThan(100)
  expect(unused.filter((path) => files.includes(`app/${path}/package.json`))).toEqual([])
  expect(files.filter((file) => /\.(test|suite|fixture|child)\.ts$|\.d\.ts$|\.map$/.test(file))).toEqual([])
  const compiled = files.filter((file) => file.startsWith('cache/v24'))
  expect(compiled.length).toBeGreaterThan(500)
})

testOfImage(
  'the bill of materials has every package with a licence that permits its use, and Node.js with its hash',
  () => {
    const { components } = JSON.parse(readFileSync(join(root, 'app/sbom.cdx.json'), 'utf8'))
    const named = (components as Component[]).map(({ name, version }) => `${name}@${version}`)
    const packages = files.filter((file) => /node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(file))
    expect(packages.length).toBeGreaterThan(80)
    const installed = packages.map((file) => {
      const { name, version } = JSON.parse(readFileSync(join(root, file), 'utf8'))
      return `${name}@${version}`
    })
    expect(installed.filter((one) => !named.includes(one))).toEqual([])
    const others = (components as Component[]).filter(({ licenses }) => {
      const licence = licenses?.[0]?.license?.id ?? licenses?.[0]?.expression ?? 'none'
      return !licence.split(/[() ]|AND|OR/).every((one) => one === '' || PERMISSIVE.test(one))
    })
    expect(others).toEqual([])
    const runtime = (components as Component[]).find(({ name }) => name === `node-linux-${process.arch}`)
    const { integrity } = JSON.parse(readFileSync('scripts/runtime/package-lock.json', 'utf8')).packages[
      `node_modules/node-linux-${process.arch}`
    ]
    const hash = Buffer.from(runtime?.hashes?.[0]?.content ?? '', 'hex').toString('base64')
    expect(`sha512-${hash}`).toBe(integrity)
  },
)

test('every image is named with its digest', () => {
  const images = [...DOCKERFILE.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  expect(images).toHaveLength(2)
  for (const image of images) expect(image).toMatch(/@sha256:[0-9a-f]{64}$/)
})

testOfImage('the image has all that was assembled, where its settings and its command say', () => {
  const [build = '', final = ''] = DOCKERFILE.split(/^(?=FROM )/m).slice(1)
  expect(instructions(build, 'WORKDIR', 'COPY', 'ARG', 'RUN')).toEqual([
    'WORKDIR /source',
    'COPY . .',
    'ARG COMMIT=',
    'RUN COMMIT=$COMMIT node deploy/image/assemble.ts /',
  ])
  expect(assembled).toEqual(['app', 'cache', 'nodejs'])
  expect(instructions(final, 'COPY', 'WORKDIR', 'USER')).toEqual([
    'COPY --from=build /nodejs /nodejs',
    'COPY --from=build /app /app',
    'COPY --from=build /cache /cache',
    'WORKDIR /app',
    `USER ${NONROOT}:${NONROOT}`,
  ])
  expect(environment()).toEqual({
    NODE_COMPILE_CACHE: '/cache',
    MULTIHUB_HOST: '0.0.0.0',
    MULTIHUB_HOME: '/data',
  })
})

testOfImage(
  'a second assembly has the same files, whatever the umask is, and only its compile cache may differ',
  async () => {
    const again = await mkdtemp(join(tmpdir(), 'multihub-image-again-'))
    // The final user reads it.
    chmodSync(again, 0o755)
    try {
      const words = [
        '-c',
        'umask 077; exec "$0" "$@"',
        process.execPath,
        join(source, 'deploy/image/assemble.ts'),
        again,
      ]
      await promisify(execFile)('sh', words, { timeout: HANG_LIMIT_MS })
      const [first, second] = [listFiles(root), listFiles(again)]
      expect(first.length).toBeGreaterThan(1_000)
      expect(second).toEqual(first)
      const timesOf = (folder: string) =>
        new Set(
          files
            .filter((file) => /^(app|nodejs)/.test(file))
            .map((file) => lstatSync(join(folder, file)).mtimeMs),
        )
      expect(timesOf(again)).toEqual(timesOf(root))
      expect(timesOf(root).size).toBe(1)
    } finally {
      await rm(again, { recursive: true, force: true })
    }
  },
  HANG_LIMIT_MS,
)

const is_root = process.getuid?.() === 0
if (!is_root) skipWithout('the image in a root directory of its own needs root')
;(IS_WHOLE && is_root ? testWith('chroot', 'ldd') : test.skip)(
  'every role runs with the files of the image alone, as an unprivileged user, and stops on SIGTERM',
  async () => {
    addBase()
    const [program = '', ...options] = entrypoint()
    const child = spawn('chroot', [`--userspec=${NONROOT}:${NONROOT}`, root, program, ...options, 'all'], {
      env: { ...environment(), ...settings(), PATH: process.env['PATH'] ?? '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let log = ''
    child.stderr.on('data', (chunk: Buffer) => {
      log += chunk
    })
    const exit = once(child, 'exit')
    const ready = once(createInterface({ input: child.stdout }), 'line')
    const [line] = await Promise.race([ready, exit.then(() => [log])])
    const base_url = /^ready .*base_url=(\S+)/.exec(line)?.[1] ?? line
    const response = await fetch(`${base_url}/nowhere`, { method: 'POST' })
    expect(await response.json()).toMatchObject({ success: false, error: { code: 1001 } })
    child.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
  },
  HANG_LIMIT_MS,
)

/** Copies what `.dockerignore` admits: a builder of images has no other files of the project. */
function copyAdmitted(folder: string): void {
  const lines = readFileSync('.dockerignore', 'utf8').split('\n')
  const patterns = lines.filter((line) => line !== '' && !line.startsWith('#'))
  const admitted = patterns.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  // The copy knows no other patterns.
  expect(patterns).toEqual(['*', ...admitted.map((path) => `!${path}`), '**/node_modules'])
  for (const path of admitted)
    cpSync(path, join(folder, path), {
      recursive: true,
      filter: (file) => basename(file) !== 'node_modules',
    })
}

function entrypoint(): readonly string[] {
  return JSON.parse(/^ENTRYPOINT (.*)$/m.exec(DOCKERFILE)?.[1] ?? '[]')
}

/** The lines of a stage with these instructions, in order. */
function instructions(stage: string, ...names: readonly string[]): readonly string[] {
  return stage.split('\n').filter((line) => names.includes(line.split(' ')[0] ?? ''))
}

/** The variables that the image sets. */
function environment(): Readonly<Record<string, string>> {
  const text = /^ENV (.*)$/m.exec(DOCKERFILE)?.[1] ?? ''
  return Object.fromEntries(
    text.split(' ').map((pair): [string, string] => {
      const [name = '', value = ''] = pair.split('=')
      return [name, value]
    }),
  )
}

/** Adds what the base image has: the libraries that the programs are linked with, and two devices; and a volume. */
function addBase(): void {
  const native = files.filter((file) => file.endsWith('.node')).map((file) => join(root, file))
  const linked = execFileSync('ldd', [join(root, 'nodejs/bin/node'), ...native], { encoding: 'utf8' })
  for (const [path] of linked.matchAll(/\/[^\s:]*\.so[^\s:]*/g)) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    copyFileSync(path, join(root, path))
  }
  mkdirSync(join(root, 'dev'))
  for (const [name, minor] of [
    ['null', '3'],
    ['urandom', '9'],
  ] as const)
    execFileSync('mknod', ['-m', '666', join(root, 'dev', name), 'c', '1', minor])
  mkdirSync(join(root, 'data'))
  chownSync(join(root, 'data'), NONROOT, NONROOT)
}

function settings(): Readonly<Record<string, string>> {
  return {
    MULTIHUB_HOST: '127.0.0.1',
    MULTIHUB_MASTER_KEYS: `a:${randomHex(32)}`,
    MULTIHUB_SANDBOX_KEY: randomHex(32),
    ...ANY_PORTS,
  }
}
