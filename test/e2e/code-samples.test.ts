import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { PUBLIC_METHODS } from '../../gateway/methods/public-methods.ts'
import { ROOT } from '../../scripts/sources/sources.ts'
import { describeLanguage, LANGUAGES } from '../clients/languages.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import { testWith } from '../support/needs.ts'
import { OPENAPI_DOCUMENT, OPENAPI_DOCUMENT_V2 } from '../support/openapi.ts'
import { type SystemHere, startHere } from '../support/system.ts'
import { SAMPLE_PROGRAMS, type Samples, withClient } from './code-samples.fixture.ts'

const run = promisify(execFile)
const TYPES = join(ROOT, 'node_modules', '@types')
const DOCUMENTS = { v1: OPENAPI_DOCUMENT, v2: OPENAPI_DOCUMENT_V2 } as const

/** What calls of samples are refused with: the route and the payment of the examples are not of this system. */
const CODES = { 'gateway.ping': 0, 'ticket.summary': 0, 'payment.in': 1004, 'webhook.resend': 6010 } as const
const CALLED = Object.keys(CODES)
const PRINTED = Object.entries(CODES).map(([name, code]) => `${name} ${code}`)

/** The samples of a language by method, in one version of the reference. */
function samplesOf(label: string, version: keyof typeof DOCUMENTS): Samples {
  interface Operation {
    readonly post?: {
      readonly operationId: string
      readonly 'x-codeSamples'?: readonly { readonly label: string; readonly source: string }[]
    }
  }
  const samples = Object.entries<Operation>(DOCUMENTS[version].paths).flatMap(([path, { post }]) => {
    const sample = post?.['x-codeSamples']?.find((one) => one.label === label)
    const name = post?.operationId === 'webhookResend' ? 'webhook.resend' : (path.split('#')[1] ?? path)
    return sample === undefined ? [] : [[name, sample.source] as const]
  })
  expect(samples).toHaveLength(PUBLIC_METHODS.length)
  return new Map(samples)
}

let folder: string
let system: SystemHere
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multihub-samples-'))
  system = await startHere()
})
afterAll(async () => {
  await system?.end()
  if (folder !== undefined) await rm(folder, { recursive: true })
})

/** The environment of a program with a credential of the demonstration. */
function environment(version: keyof typeof DOCUMENTS): Readonly<Record<string, string | undefined>> {
  const { base_url, merchants } = system.demo()
  const credential = merchants[0]?.credentials.find((one) => one.api_version === version)
  return {
    ...process.env,
    BASE_URL: base_url,
    APPLICATION_ID: `${credential?.application_id}`,
    SECRET: credential?.secret,
  }
}

test.each(['curl', 'TypeScript', 'Python', 'PHP', 'Go'])(
  'the samples in %s say first what they need',
  (label) => {
    for (const [name, sample] of [...samplesOf(label, 'v1'), ...samplesOf(label, 'v2')]) {
      const [first = '', second = ''] = sample.split('\n')
      expect(first).toMatch(/^(?:#|\/\/) (?:.*\bclient\b.*|Needs BASE_URL, APPLICATION_ID and SECRET)/)
      if (name === 'payment.in')
        expect(second).toMatch(/^(?:#|\/\/) Use a service_id of your own instead of 501\.$/)
    }
  },
)

test('the samples in TypeScript compile with the client', async () => {
  const samples = [...samplesOf('TypeScript', 'v1').values(), ...samplesOf('TypeScript', 'v2').values()]
  const blocks = samples.map((sample) => `{\n${withClient(sample)}\nvoid result\n}`)
  const source = join(ROOT, 'clients', 'typescript', 'src', 'index.ts')
  const settings = 'base_url: string, application_id: number, secret: string, version: "v1" | "v2"'
  const head = `import { Client } from '${source}'\ndeclare const ${settings}\n`
  const file = join(folder, 'samples.mts')
  await writeFile(file, head + blocks.join('\n'))
  const flags = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions']
  const target = ['--target', 'es2022', '--lib', 'es2022,esnext.disposable', '--module', 'nodenext']
  const types = ['--types', 'node', '--typeRoots', TYPES]
  await run(join(ROOT, 'node_modules', '.bin', 'tsc'), [...flags, ...target, ...types, file])
})

for (const language of LANGUAGES) {
  const programOf = SAMPLE_PROGRAMS[language.name as keyof typeof SAMPLE_PROGRAMS]
  if (programOf === undefined) continue
  describeLanguage(language)(`the samples in ${language.name}`, () => {
    test('are those of v1 in the reference of v2 too', () => {
      expect(samplesOf(language.name, 'v2')).toEqual(samplesOf(language.name, 'v1'))
    })

    test('are functions of the client, and get the answers of the system', async () => {
      const text = programOf(samplesOf(language.name, 'v1'), CALLED)
      const { command, folder: cwd, variables } = language.program(folder, text)
      const [program, ...parameters] = command
      const env = { ...environment('v1'), ...variables }
      const { stdout } = await run(program, parameters, { cwd, env, timeout: HANG_LIMIT_MS })
      expect(stdout.trim().split('\n')).toEqual(PRINTED)
    })
  })
}

const testInBash = testWith('bash', 'openssl', 'curl')
testInBash.each(['v1', 'v2'] as const)('the samples with curl are signed for %s', async (version) => {
  const samples = samplesOf('curl', version)
  const printed = []
  for (const name of CALLED) {
    const { stdout } = await run('bash', ['-euc', samples.get(name) ?? ''], { env: environment(version) })
    printed.push(`${name} ${JSON.parse(stdout).error?.code ?? 0}`)
  }
  expect(printed).toEqual(PRINTED)
})
