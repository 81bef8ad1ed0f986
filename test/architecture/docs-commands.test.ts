import { execFileSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type DescMethod, type DescService, fromJson, type JsonValue } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { ROLES } from '#lib/role/role.ts'
import { isUnary } from '#lib/rpc/service.ts'
import { isTest, ROOT, readPages, readSources, type SourceFile } from '../../scripts/sources/sources.ts'
import { nameOfRpc, OWN_RPCS } from '../../services/backoffice/domain/operator-rpcs.ts'

/** A call of an RPC in an example: its page, the names as written, and the JSON of the request if there is one. */
interface Call {
  readonly page: string
  readonly service: string
  readonly method: string
  readonly json: string | undefined
}

const texts = (await readPages()).map(({ path, text }) => ({ page: path, text }))
const services = await readServices()

test('every RPC that an example calls exists, and takes the request of the example', () => {
  const calls = texts.flatMap(({ page, text }) => callsIn(page, text))
  expect(calls.length).toBeGreaterThan(10)
  expect(calls.filter(({ json }) => json !== undefined).length).toBeGreaterThan(8)
  expect(calls.flatMap(problemsOf)).toEqual([])
})

test('every RPC that a page for operators names exists', () => {
  const methods = services.flatMap((service) => service.methods.map(({ name }) => name))
  // The verbs of the RPCs, so that a method which was renamed is noticed and other words are left alone.
  const verbs = new Set(methods.map((name) => /^[A-Z][a-z]+/.exec(name)?.[0]))
  const named = texts
    .filter(({ page }) => /^docs\/(operators\/|contract\/rpcs|internal-teams)/.test(page))
    .flatMap(({ page, text }) =>
      [...text.matchAll(/`(?:[\w.]+\/)?([A-Z][a-z]+(?:[A-Z][a-z]+)+)`/g)].map(([, name = '']) => ({
        page,
        name,
      })),
    )
    .filter(({ name }) => verbs.has(/^[A-Z][a-z]+/.exec(name)?.[0]) && !name.endsWith('Service'))
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter(({ name }) => !methods.includes(name))).toEqual([])
})

// C3
test('the page of the contract about RPCs has every service of the operator, by its whole name', () => {
  const page = texts.find(({ page }) => page === 'docs/contract/rpcs.md')?.text ?? ''
  const names = [...page.matchAll(/^\| `(multihub[\w.]+)` \| (.*)$/gm)].map(([, name = '', rpcs = '']) => ({
    name,
    rpcs: [...rpcs.matchAll(/`(\w+)`/g)].map(([, rpc = '']) => rpc),
  }))
  expect(names.length).toBeGreaterThan(10)
  const unknown = names.flatMap(({ name, rpcs }) => {
    const methods =
      services.find(({ typeName }) => typeName === name)?.methods.map((method) => method.name) ?? []
    return rpcs.filter((rpc) => !methods.includes(rpc)).map((rpc) => `${name}/${rpc}`)
  })
  expect(unknown).toEqual([])
})

// C1.2, C3
test('people may call exactly the RPCs of that page, and a role those that its code calls', async () => {
  const sources = (await readSources()).filter(
    (source) => !isTest(source) && !source.path.startsWith('bench/'),
  )
  const methods = services.flatMap((service) => service.methods)
  const nameOf = ({ parent, name }: DescMethod): string => `${parent.typeName}/${name}`
  // The door of the back office makes streams itself.
  const streams = methods
    .filter((method) => !isUnary(method))
    .map((method) => ({ rpc: nameOf(method), callers: ['backoffice'] }))
  const permitted = [...sources.flatMap(permissionsIn), ...streams]
  const all = methods.map(nameOf)
  expect(permitted.map(({ rpc }) => rpc).sort()).toEqual(all.sort())
  const page = texts.find(({ page }) => page === 'docs/contract/rpcs.md')?.text ?? ''
  const listed = [...page.matchAll(/^\| `(multihub[\w.]+)` \| (.*?) ?\| (.*?) ?\|$/gm)].flatMap(
    ([, service = '', reads = '', others = '']) => {
      const rpcsIn = (cell: string, people: readonly string[]) =>
        [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => `${service}/${name}: ${people.join(', ')}`)
      return [...rpcsIn(reads, ['backoffice', 'internal']), ...rpcsIn(others, ['backoffice'])]
    },
  )
  // The back office calls these RPCs for its own.
  const own_calls = OWN_RPCS.map(nameOfRpc)
  const forwarded = permitted.filter(
    ({ rpc }) => !rpc.startsWith('multihub.gateway.') && !own_calls.includes(rpc),
  )
  const of_people = forwarded.map(({ rpc, callers }) => ({
    rpc,
    people: callers.filter((caller) => caller === 'internal' || caller === 'backoffice').sort(),
  }))
  expect(
    of_people
      .filter(({ people }) => people.length > 0)
      .map(({ rpc, people }) => `${rpc}: ${people.join(', ')}`)
      .sort(),
  ).toEqual(listed.sort())
  const unused = permitted.flatMap(({ rpc, callers }) => {
    const called = new RegExp(`\\b${localName(rpc)}\\b`)
    return callers
      .filter((caller) => ROLES.some((role) => role === caller))
      .filter((role) => {
        const folders = ['lib/', role === 'gateway' ? 'gateway/' : `services/${role}/`]
        const isOfRole = (path: string): boolean => folders.some((folder) => path.startsWith(folder))
        return !sources.some(({ path, text }) => isOfRole(path) && called.test(text))
      })
      .map((role) => `${role} calls no ${rpc}`)
  })
  expect(unused).toEqual([])
})

test('every command of main.ts on a page exists, with its options', () => {
  const help = execFileSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'main.ts', '--help'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  )
  const known = new Map(
    [...help.matchAll(/^main\.ts (\S+)(.*?) {3}/gm)].map(([, name, words]) => [name, words]),
  )
  expect(known.size).toBeGreaterThan(6)
  const named = texts.flatMap(({ page, text }) =>
    [...text.matchAll(/main\.ts (?!\.)([\w$-]+)((?: --[\w-]+)*)/g)].map(
      ([line, name = '', options = '']) => ({
        page,
        line,
        name,
        options: options.split(' ').filter(Boolean),
      }),
    ),
  )
  expect(named.length).toBeGreaterThan(15)
  const roles: readonly string[] = [...ROLES, 'all', '$role']
  const unknown = named.filter(
    ({ name, options }) =>
      !(roles.includes(name) && options.length === 0) &&
      !(known.has(name) && options.every((option) => known.get(name)?.includes(option))),
  )
  expect(unknown).toEqual([])
})

/** The callers that a file permits each RPC of its service to: `getRoute: by(['payments'], async () => …)`. */
function permissionsIn({ path, text }: SourceFile): readonly { rpc: string; callers: readonly string[] }[] {
  const [, descriptor = ''] = /\brpcService\((\w+),/.exec(text) ?? []
  // Services of several roles can have the same name.
  const [, role] = /^(?:services\/)?([^/]+)/.exec(path) ?? []
  const service = services.find(
    ({ name, typeName }) => name === descriptor && typeName.split('.')[1] === role,
  )
  if (service === undefined) return []
  return [...text.matchAll(/^ {4}(\w+): by\(\s*\[([^\]]*)\]/gm)].map(([, local = '', callers = '']) => ({
    rpc: `${service.typeName}/${local.replace(/^./, (letter) => letter.toUpperCase())}`,
    callers: [...callers.matchAll(/'(\w+)'/g)].map(([, caller = '']) => caller),
  }))
}

/** The name of an RPC in code: `getRoute` for `multihub.merchants.v1.RegistryService/GetRoute`. */
function localName(rpc: string): string {
  return rpc.replace(/^.*\//, '').replace(/^./, (letter) => letter.toLowerCase())
}

/** The calls of RPCs in the commands of a page, also those by a function of the page that adds the package or the service. */
function callsIn(page: string, text: string): readonly Call[] {
  const blocks = [...text.matchAll(/^ *```(?:sh|bash)\n(.*?)^ *```/gms)].map(([, block = '']) => block)
  return blocks.flatMap((block) => {
    // A function of the block has a part of the name, and calls of it have the rest.
    const [, name, known = ''] = /^(\w+)\(\) \{.*?\/(multihub[\w./]+)\$1/ms.exec(block) ?? []
    const whole = name === undefined ? block : block.replaceAll(new RegExp(`^${name} (?=\\w)`, 'gm'), known)
    // A command with its continued lines; a word in quotes may have several lines.
    const commands = whole.replaceAll('\\\n', ' ').split(/\n(?=(?:[^']*'[^']*')*[^']*$)/)
    return commands.flatMap((command) => {
      const [, service = '', method = ''] = /([\w.]*Service)\/(\w+)/.exec(command) ?? []
      const [, word] = /(?:-d|Service\/\w+)\s+((?:'[^']*'|"(?:\\.|[^"])*"|\$\w+)+)/.exec(command) ?? []
      return service === '' ? [] : [{ page, service, method, json: word && unquote(word, block) }]
    })
  })
}

/** What a shell makes of a word, with 1 for each variable to which the block gives no text. */
function unquote(word: string, block: string): string {
  const textOf = (name: string): string => {
    const [, value] = new RegExp(`^${name}=(['"].*)$`, 'm').exec(block) ?? []
    return value === undefined || value.includes('$(') ? '1' : unquote(value, '')
  }
  const expand = (text: string): string => text.replaceAll(/\$(\w+)/g, (_, name) => textOf(name))
  const parts = word.match(/'[^']*'|"(?:\\.|[^"])*"|\$\w+/g) ?? []
  return parts
    .map((part) =>
      part.startsWith("'")
        ? part.slice(1, -1)
        : expand(part.replaceAll(/^"|"$/g, '').replaceAll(/\\(.)/g, '$1')),
    )
    .join('')
}

function problemsOf({ page, service, method, json }: Call): readonly string[] {
  const found = services
    .filter(({ typeName }) => typeName === service || typeName.endsWith(`.${service}`))
    .flatMap(({ methods }) => methods.filter(({ name }) => name === method))
  const [rpc] = found
  if (rpc === undefined) return [`${page}: ${service}/${method} does not exist`]
  try {
    if (json !== undefined) fromJson(rpc.input, parseJson(json))
    return []
  } catch (error) {
    return [`${page}: ${service}/${method}: ${error}`]
  }
}

function parseJson(text: string): JsonValue {
  return JSON.parse(text)
}

/** The services of the generated code. */
async function readServices(): Promise<readonly DescService[]> {
  const files = await readdir(join(ROOT, 'gen/multihub'), { recursive: true })
  const modules = await Promise.all(
    files
      .filter((file) => file.endsWith('_service_pb.ts'))
      .map(async (file): Promise<object> => await import(join(ROOT, 'gen/multihub', file))),
  )
  return modules.flatMap((module) => Object.values(module).filter(isService))
}

function isService(value: {
  readonly kind?: string
  readonly methods?: readonly DescMethod[]
}): value is DescService {
  return value.kind === 'service'
}
