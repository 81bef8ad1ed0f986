import { dirname, join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { importsOf, isTest, readSources, type SourceFile } from './sources.ts'

const sources = await readSources()
const code = sources.filter(
  (file) => !isTest(file) && !file.path.startsWith('scripts/') && !file.path.startsWith('bench/'),
)

/** Where an import leads, as a path from the root; a package keeps its name. */
function target(file: SourceFile, module: string): string {
  if (module.startsWith('.')) return join(dirname(file.path), module)
  if (module.startsWith('#')) return module.slice(1)
  return module
}

/** The room of the house that a path is in: `lib`, `gateway`, `gen`, or one service. */
function roomOf(path: string): string {
  const [first = '', second = ''] = path.split('/')
  return first === 'services' ? `services/${second}` : first
}

interface Crossing {
  readonly from: string
  readonly to: string
}

const crossings: readonly Crossing[] = code.flatMap((file) =>
  importsOf(file).map((module) => ({ from: file.path, to: target(file, module) })),
)

/** The crossings of a kind that the walls forbid, in words. */
function broken(forbidden: (crossing: Crossing) => boolean): string[] {
  return crossings.filter(forbidden).map(({ from, to }) => `${from} imports ${to}`)
}

const only = (owner: RegExp, thing: RegExp): string[] =>
  broken(({ from, to }) => thing.test(to) && !owner.test(from))

describe('the walls of the house', () => {
  test('the reader of imports finds them', () => {
    expect(crossings.length).toBeGreaterThan(300)
    expect(crossings).toContainEqual({ from: 'roles.ts', to: 'gateway/service.ts' })
  })

  test('lib imports nobody but lib and what is generated', () => {
    expect(
      broken(({ from, to }) => from.startsWith('lib/') && /^(services|gateway|main\.ts|roles\.ts)/.test(to)),
    ).toEqual([])
  })

  test('a service imports no other service and not the gateway', () => {
    const foreign = ({ from, to }: Crossing): boolean =>
      from.startsWith('services/') && /^(services|gateway)\//.test(to) && roomOf(from) !== roomOf(to)
    expect(broken(foreign)).toEqual([])
  })

  test('the gateway imports no service', () => {
    expect(broken(({ from, to }) => from.startsWith('gateway/') && to.startsWith('services/'))).toEqual([])
  })

  test('only files in store folders open collections', () => {
    const opener = /^(services\/[\w-]+\/store\/|gateway\/limits\/store\.ts|lib\/|roles\.ts)/
    expect(only(opener, /^lib\/platform\/store\/(?!port\.ts|errors\.ts)/)).toEqual([])
  })

  test('databases, the bus, HTTP clients and RPC transports are each known to one folder of lib', () => {
    expect(only(/^lib\/platform\/store\//, /^(mongodb|lmdb|bson)(\/|$)/)).toEqual([])
    expect(only(/^lib\/platform\/bus\//, /^@nats-io\//)).toEqual([])
    expect(only(/^lib\/platform\/http\//, /^undici(\/|$)/)).toEqual([])
    expect(only(/^lib\/platform\/rpc\//, /^(@grpc\/|@connectrpc\/connect-node|grpc-health-check)/)).toEqual(
      [],
    )
  })

  test('time and chance are reached through lib alone', () => {
    const direct =
      /\b(Date\.now\(|new Date\(\)|Math\.random\(|setTimeout\(|setInterval\(|randomUUID\(|performance\.now\()/
    const owner = /^lib\/platform\/(time\.ts|crypto\/)/
    const guilty = code.filter(({ path, text }) => !owner.test(path) && direct.test(withoutComments(text)))
    expect(guilty.map(({ path }) => path)).toEqual([])
  })

  test('nothing re-exports what another file holds', () => {
    const barrels = code.filter(({ text }) => /^export (\*|(type )?\{)/m.test(text))
    expect(barrels.map(({ path }) => path)).toEqual([])
  })
})

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '')
}
