import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe } from '@jest/globals'
import { ROOT } from '../../scripts/sources/sources.ts'
import { describeWith } from '../support/needs.ts'
import { SERVERS_FOLDER } from '../support/programs.ts'
import { skipWithout } from '../support/skip.ts'
import { type Runner, startRunner } from './runner.ts'

/** The client of a language, as the tests drive it. */
export interface Language {
  readonly name: string
  /** What must be installed. */
  readonly programs: readonly string[]
  /** Succeeds when the packages are installed that the tests need. */
  readonly probe?: readonly [program: string, ...parameters: string[]]
  readonly middleware: readonly string[]
  /**
   * What this client can do and some others cannot: end a create at a signal, hand errors of a middleware to a function,
   * notice a field that is there without a value, and know that a TLS handshake has not ended.
   */
  readonly features?: readonly ('stop' | 'report' | 'undefined' | 'handshake')[]
  /** Builds what must be built into a folder. */
  readonly build?: (folder: string) => void
  readonly start: (folder: string) => Runner
  /** The page with a first program, and how that program is run from a folder. */
  readonly page: string
  readonly program: (folder: string, text: string) => ReadmeProgram
}

/** A program of a page, ready to be started. */
export interface ReadmeProgram {
  readonly command: readonly [program: string, ...parameters: string[]]
  readonly folder: string
  readonly variables?: Readonly<Record<string, string>>
}

const CLIENTS = join(ROOT, 'clients')
/** What `scripts/servers/install` gets from PyPI: Flask and mypy among others. */
export const PYTHON_PACKAGES = join(SERVERS_FOLDER, 'python')

const typescript = (kind: 'esm' | 'cjs', node = process.execPath): Language => ({
  name: `TypeScript (${kind}, ${basename(node)})`,
  programs: [node],
  middleware: ['plain', 'Express', 'Express after express.raw', 'Fastify'],
  features: ['stop', 'report', 'undefined'],
  build(folder) {
    execFileSync(process.execPath, [join(CLIENTS, 'typescript', 'build.ts'), folder])
  },
  page: 'clients/typescript/README.md',
  program(folder, text) {
    const scope = join(folder, 'node_modules', '@multihub')
    mkdirSync(scope, { recursive: true })
    symlinkSync(folder, join(scope, 'client'))
    writeFileSync(join(folder, 'first-deposit.mjs'), text)
    return { command: [node, 'first-deposit.mjs'], folder }
  },
  start: (folder) =>
    startRunner([node, join(CLIENTS, 'typescript', 'runner.mjs'), folder, kind], {
      folder: ROOT,
    }),
})

const python: Language = {
  name: 'Python',
  programs: ['python3'],
  probe: ['python3', '-c', 'import flask'],
  middleware: ['WSGI', 'Flask'],
  features: ['handshake'],
  page: 'clients/python/README.md',
  program(folder, text) {
    writeFileSync(join(folder, 'first_deposit.py'), text)
    const variables = { PYTHONPATH: join(CLIENTS, 'python', 'src'), PYTHONDONTWRITEBYTECODE: '1' }
    return { command: ['python3', 'first_deposit.py'], folder, variables }
  },
  start: () =>
    startRunner(['python3', join(CLIENTS, 'python', 'runner.py')], {
      folder: ROOT,
      variables: { PYTHONPATH: PYTHON_PACKAGES, PYTHONDONTWRITEBYTECODE: '1' },
    }),
}

const GO = { GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod', GOPROXY: 'off' }
const GO_MODULE = 'example.com/multihub/client'

const go: Language = {
  name: 'Go',
  programs: ['go'],
  middleware: ['net/http'],
  features: ['stop', 'handshake'],
  build(folder) {
    execFileSync('go', ['build', '-o', join(folder, 'runner'), './internal/runner'], {
      cwd: join(CLIENTS, 'go'),
      env: { ...process.env, ...GO },
    })
  },
  page: 'clients/go/README.md',
  program(folder, text) {
    const requirement = `require ${GO_MODULE} v0.0.0\n\nreplace ${GO_MODULE} => ${join(CLIENTS, 'go')}`
    writeFileSync(join(folder, 'go.mod'), `module example.com/shop\n\ngo 1.23\n\n${requirement}\n`)
    writeFileSync(join(folder, 'main.go'), text)
    return { command: ['go', 'run', '.'], folder, variables: GO }
  },
  start: (folder) => startRunner([join(folder, 'runner')], { folder: ROOT }),
}

/** Debian's packages php-curl and php-nyholm-psr7. */
const PHP_PROBE =
  'exit((int) !(extension_loaded("curl") && is_file("/usr/share/php/Nyholm/Psr7/autoload.php")));'

const php: Language = {
  name: 'PHP',
  programs: ['php'],
  probe: ['php', '-r', PHP_PROBE],
  middleware: ['PSR-7'],
  features: ['handshake'],
  page: 'clients/php/README.md',
  program(folder, text) {
    writeFileSync(join(folder, 'first-deposit.php'), text)
    return { command: ['php', 'first-deposit.php'], folder, variables: { CLIENT: join(CLIENTS, 'php') } }
  },
  start: () => startRunner(['php', join(CLIENTS, 'php', 'runner.php')], { folder: ROOT }),
}

/** The client of each language. */
export const LANGUAGES: readonly Language[] = [typescript('esm'), python, go, php]

/** The client in TypeScript on the older releases of Node.js that its page names. `scripts/servers/install` gets them. */
export const OLDER_NODES: readonly Language[] = ['node-18', 'node-20', 'node-22'].map((name) =>
  typescript('esm', join(SERVERS_FOLDER, 'bin', name)),
)

/** The same client in other forms of its package. */
export const OTHER_FORMS: readonly Language[] = [typescript('cjs'), ...OLDER_NODES]

/** `describe` for the tests of a language; it skips them, with a reason, where something is missing. */
export function describeLanguage({ name, programs, probe }: Language): typeof describe.skip {
  const describeIt = describeWith(...programs)
  if (describeIt === describe.skip || probe === undefined || succeeds(probe)) return describeIt
  skipWithout(`packages for ${name} are missing: run scripts/servers/install`)
  return describe.skip
}

function succeeds([program, ...parameters]: readonly [program: string, ...parameters: string[]]): boolean {
  const env = { ...process.env, PYTHONPATH: PYTHON_PACKAGES }
  return spawnSync(program, parameters, { env, stdio: 'ignore' }).status === 0
}
