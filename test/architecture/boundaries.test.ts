import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import {
  chainsTo,
  type Import,
  importCycles,
  importsOf,
  mutualFolders,
} from '../../scripts/sources/import-graph.ts'
import { isTest, ROOT, readSources } from '../../scripts/sources/sources.ts'

const sources = await readSources()
const code = sources.filter(
  (file) => !isTest(file) && !file.path.startsWith('scripts/') && !file.path.startsWith('bench/'),
)

const imports: readonly Import[] = code.flatMap(importsOf)

/** Also the imports of scripts, benchmarks, proofs and what tests share: all but those of files beside the code. */
const all_imports: readonly Import[] = sources
  .filter(({ path }) => !/\.(test|fixture|child|suite)\.ts$/.test(path))
  .flatMap(importsOf)

/** The part of the system that a path belongs to: `lib`, `gateway`, `gen`, or one service. */
function partOf(path: string): string {
  const [first = '', second = ''] = path.split('/')
  return first === 'services' ? `services/${second}` : first
}

/** The path within a part of the system; empty for a path outside it. */
function pathWithin(part: string, path: string): string {
  return path.startsWith(`${part}/`) ? path.slice(part.length + 1) : ''
}

/** The imports that a rule forbids, as sentences. */
function forbidden(isForbidden: (one: Import) => boolean): string[] {
  return imports.filter(isForbidden).map(({ from, to }) => `${from} imports ${to}`)
}

/** The imports of a thing by files other than those that may use it. */
const usedOutside = (owner: RegExp, thing: RegExp): string[] =>
  forbidden(({ from, to }) => thing.test(to) && !owner.test(from))

/** The files whose code, comments aside, contains a pattern and that are not among its owners. */
const writtenOutside = (owner: RegExp, pattern: RegExp): string[] =>
  code
    .filter(({ path, text }) => !owner.test(path) && pattern.test(withoutComments(text)))
    .map(({ path }) => path)

test('the imports of the files are read', () => {
  expect(imports.length).toBeGreaterThan(300)
  expect(imports).toContainEqual(expect.objectContaining({ from: 'app/roles.ts', to: 'gateway/service.ts' }))
})

describe('between the parts of the system', () => {
  test('lib imports neither services nor the gateway', () => {
    expect(
      forbidden(
        ({ from, to }) => from.startsWith('lib/') && /^(services|gateway|app|operations|main\.ts)/.test(to),
      ),
    ).toEqual([])
  })

  test('a service imports neither another service nor the gateway', () => {
    const isForeign = ({ from, to }: Import): boolean =>
      from.startsWith('services/') && /^(services|gateway)\//.test(to) && partOf(from) !== partOf(to)
    expect(forbidden(isForeign)).toEqual([])
  })

  test('the apps are clients: they import generated code and what the contract says, and nothing of the servers', () => {
    const isServer = (to: string): boolean =>
      /^(services|gateway|app|operations|proofs)\/|^lib\/(?!base|contract)/.test(to)
    expect(forbidden(({ from, to }) => from.startsWith('apps/') && isServer(to))).toEqual([])
    // Its reference page is made from the table of its commands.
    const mayUse = /^(apps|scripts\/docs)\//
    expect(forbidden(({ from, to }) => !mayUse.test(from) && to.startsWith('apps/'))).toEqual([])
  })

  test('the clients of merchants import nothing of the project, and nothing of the project imports them', () => {
    const isClient = (path: string): boolean => path.startsWith('clients/')
    const crosses = ({ from, to }: Import): boolean =>
      isClient(from) !== isClient(to) && !(isClient(from) && to.startsWith('node:'))
    expect(forbidden(crosses)).toEqual([])
  })

  test('the gateway imports no service', () => {
    expect(forbidden(({ from, to }) => from.startsWith('gateway/') && to.startsWith('services/'))).toEqual([])
  })
})

test('a folder of lib imports only folders that come before it', () => {
  const order = ['contract', 'base', 'telemetry', 'bus', 'http', 'store', 'rpc', 'patterns', 'role']
  const rank = (path: string): number =>
    path.startsWith('lib/') ? order.indexOf(path.split('/')[1] ?? '') : -1
  expect(imports.filter(({ from }) => from.startsWith('lib/') && rank(from) < 0)).toEqual([])
  expect(forbidden(({ from, to }) => from.startsWith('lib/') && rank(to) > rank(from))).toEqual([])
})

test('no two sibling folders import each other, types included', () => {
  expect(mutualFolders(all_imports)).toEqual([])
})

describe('within a service', () => {
  const services = [
    ...new Set(code.map(({ path }) => partOf(path)).filter((part) => part.startsWith('services/'))),
  ]

  test('every service has a service.ts, and itself or its parts a domain folder and a store folder', () => {
    const paths = code.map(({ path }) => path)
    const missing = services.flatMap((service) =>
      [/^service\.ts$/, /(^|\/)domain\//, /(^|\/)store\//]
        .filter((wanted) => !paths.some((path) => wanted.test(pathWithin(service, path))))
        .map((wanted) => `${service}: ${wanted}`),
    )
    expect(services.length).toBeGreaterThan(3)
    expect(missing).toEqual([])
  })

  test('every folder of a service is one that the page of the architecture names, and each named one exists', async () => {
    const text = await readFile(join(ROOT, 'docs', 'architecture', 'README.md'), 'utf8')
    const page = text.split('## ').find((section) => section.startsWith('Inside a service')) ?? ''
    const shared = [...page.matchAll(/^ {2}([\w-]+)\/ /gm)].map(([, folder]) => folder)
    const special = [...page.matchAll(/^\| `([\w-]+\/[\w-]+)\/` \|/gm)].map(([, folder]) => folder ?? '')
    const folders = code.flatMap(({ path }) => /^services\/([\w-]+\/[\w-]+)\//.exec(path)?.[1] ?? [])
    const existing = [...new Set(folders)].filter((folder) => !shared.includes(folder.split('/')[1]))
    expect(shared).toEqual(['rpc', 'use-cases', 'domain', 'effects', 'store'])
    expect(existing.sort()).toEqual(special.sort())
  })

  test('domain files import nothing of their service but domain files and its limits', () => {
    const isOuter = ({ from, to }: Import): boolean =>
      DOMAIN.test(from) && to.startsWith('services/') && !DOMAIN.test(to) && !to.endsWith('/limits.ts')
    expect(forbidden(isOuter)).toEqual([])
  })

  test('domain files load nothing that does input or output, or reads the clock or randomness', () => {
    const chains = chainsTo(
      loaded,
      (path) => DOMAIN.test(path),
      (path) => IMPURE.test(path),
    )
    expect(chains).toEqual([])
    expect(loaded.filter(({ from }) => DOMAIN.test(from)).length).toBeGreaterThan(30)
  })
})

test('no file imports itself through others, types included', () => {
  expect(importCycles(all_imports)).toEqual([])
})

/** The domain files of a service, or of one of its parts. */
const DOMAIN = /^services\/([\w-]+\/)+domain\//

/** What reaches the outside, the clock or randomness. */
const IMPURE =
  /^lib\/(store|bus|rpc|role|telemetry|http\/client|base\/(context|time|ids|crypto\/random))|^node:(fs|net|tls|http|https|http2|dgram|dns|timers|child_process)\b|^(fastify|mongodb|lmdb|undici|@nats-io|@grpc)\b/

describe('of resources', () => {
  test('only store files open collections and blobs', () => {
    expect(writtenOutside(STORE_FILES, /\.(collection|blobs)\s*[<(]/)).toEqual([])
  })

  test('code outside store files imports the types and the errors of the store at most', () => {
    const implementation =
      /^lib\/store\/(?!store\.ts|errors\.ts|lookup\.ts|coded-collection\.ts|kept-acts\.ts|test-end\.ts|archive\/(archived-document|archive-files)\.ts)/
    const owner = /^(lib\/store|operations|app)\//
    expect(usedOutside(owner, implementation)).toEqual([])
    expect(usedOutside(STORE_FILES, /^lib\/store\/coded-collection\.ts$/)).toEqual([])
    const may_look_up = new RegExp(`${STORE_FILES.source}|^lib/patterns/`)
    expect(usedOutside(may_look_up, /^lib\/store\/(lookup|test-end)\.ts$/)).toEqual([])
  })

  test('each database, the bus, the HTTP client and the RPC transports are known to one folder of lib', () => {
    expect(usedOutside(/^lib\/store\//, /^(mongodb|lmdb|bson)(\/|$)/)).toEqual([])
    expect(usedOutside(/^lib\/bus\//, /^@nats-io\//)).toEqual([])
    expect(usedOutside(/^lib\/http\//, /^undici(\/|$)/)).toEqual([])
    expect(usedOutside(/^lib\/rpc\//, /^(@grpc\/|@connectrpc\/connect-node|grpc-health-check)/)).toEqual([])
  })

  test('the clock and randomness are reached through lib only', () => {
    const direct =
      /\b(Date\.now\(|new Date\(\)|Math\.random\(|setTimeout\(|setInterval\(|randomUUID\(|randomBytes\(|randomInt\(|getRandomValues\(|performance\.now\(|process\.hrtime)/
    // A browser has its own clock and randomness, which one file of the console reads. Merchants run the clients.
    const owner =
      /^(lib\/base\/(time\.ts|ids\.ts|crypto\/)|apps\/console\/browser\/call\/machine\.ts|clients\/)/
    expect(writtenOutside(owner, direct)).toEqual([])
    expect(usedOutside(/^lib\/base\//, /^node:timers(\/|$)/)).toEqual([])
  })

  test('outgoing connections and DNS queries are made by lib only', () => {
    const values = networkValues().filter(({ names }) => names.some((name) => !HARMLESS.test(name)))
    expect(values.map(({ path, names }) => `${path} imports ${names}`)).toEqual([])
    // The command line calls programs on the developer's machine, which the rules for outgoing addresses forbid to servers.
    expect(writtenOutside(/^(lib\/http|apps|clients)\//, /\b(fetch|new WebSocket)\(/)).toEqual([])
  })

  test('only the listed files make a server; they listen through lib', () => {
    const fastify = writtenOutside(/^$/, /\bFastify\(/)
    expect(fastify.filter((path) => !SERVERS.includes(path))).toEqual([])
    const makers = networkValues().filter(({ names }) => names.some((name) => /^create.*Server$/.test(name)))
    expect(makers.map(({ path }) => path).filter((path) => !SERVERS.includes(path))).toEqual([])
    const listening = writtenOutside(/^lib\/(http|rpc)\//, /\.listen\(/)
    expect(listening).toEqual([])
  })
})

/** The files that may open collections: the store itself and the store files of each part. */
const STORE_FILES =
  /^(lib\/store\/|operations\/(archive|backup)\/|services\/([\w-]+\/)+store\/|gateway\/store\.ts$)/

/** What of Node's network modules opens no connection: address checks, a class to compare with, and servers. */
const HARMLESS = /^(isIP(v4|v6)?|Socket|createServer)$/

/** The imports by which a file loads another one. Types load nothing, and address checks reach nothing. */
const loaded = imports.filter(
  ({ to, names, is_type }) =>
    !is_type && !(to === 'node:net' && names.length > 0 && names.every((name) => HARMLESS.test(name))),
)

const SERVERS: readonly string[] = [
  'gateway/http/server.ts',
  'services/payments/provider-callbacks/provider-callback-server.ts',
  'services/sandbox/http/server.ts',
  'services/backoffice/door/http-server.ts',
]

interface ValueImport {
  readonly path: string
  readonly names: readonly string[]
}

/** The parts of lib that open connections, and the checks of `doctor`, which look at servers themselves. */
const REACHES_NETWORK =
  /^(lib\/(http|rpc|bus|store|role)|operations\/doctor|app)\/|^services\/attachments\/scanner\//

/** The values, types aside, that files outside the folders that reach the network import from the network modules of Node. */
function networkValues(): readonly ValueImport[] {
  const statement =
    /^import (?!type )(?:\{([^}]*)\}|\* as (\w+)|(\w+)) from 'node:(?:net|tls|http|https|http2|dgram|dns)[^']*'/gm
  return code
    .filter(({ path }) => !REACHES_NETWORK.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(statement)].map(([, list = '', ...whole]) => ({
        path,
        names: [...list.split(','), ...whole.map((name) => name ?? '')]
          .map((name) => name.trim().replace(/ as .*/, ''))
          .filter((name) => name !== '' && !name.startsWith('type ')),
      })),
    )
}

test('a file does not re-export what another file defines', () => {
  const barrels = code.filter(({ text }) => /^export (\*|(type )?(\*|\{))/m.test(text))
  // A package has one entry.
  expect(barrels.map(({ path }) => path)).toEqual(['clients/typescript/src/index.ts'])
})

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '')
}
