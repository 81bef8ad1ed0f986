import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../scripts/sources/sources.ts'
import { testWith } from '../support/needs.ts'
import { OPENAPI_DOCUMENT, OPENAPI_DOCUMENT_V2 } from '../support/openapi.ts'
import { startOneProcess, type TestSystem } from '../support/system.ts'

const run = promisify(execFile)
const TYPES = join(ROOT, 'node_modules', '@types')

interface CodeSample {
  readonly label: string
  readonly source: string
}

/** The samples of a language, of all methods of both versions. */
function samplesOf(label: string): readonly string[] {
  const operations = [OPENAPI_DOCUMENT, OPENAPI_DOCUMENT_V2].flatMap(({ paths }) => Object.values(paths)) as {
    post?: { 'x-codeSamples': readonly CodeSample[] }
  }[]
  return operations
    .flatMap(({ post }) => post?.['x-codeSamples'] ?? [])
    .filter((sample) => sample.label === label)
    .map(({ source }) => source)
}

let folder: string
let system: TestSystem
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multihub-samples-'))
  system = await startOneProcess()
})
afterAll(async () => {
  await system?.end()
  if (folder !== undefined) await rm(folder, { recursive: true })
})

/** Writes a program and has its language check the syntax. */
async function check(
  name: string,
  text: string,
  program: string,
  ...words: readonly string[]
): Promise<void> {
  const file = join(folder, name)
  await writeFile(file, text)
  await run(program, [...words, file])
}

test('the samples in TypeScript compile with the client', async () => {
  const blocks = samplesOf('TypeScript').map((sample) => `{\n${sample}\nvoid result\n}`)
  expect(blocks).toHaveLength(60)
  const source = join(ROOT, 'clients', 'typescript', 'src', 'index.ts')
  const head = `import type { Client } from '${source}'\ndeclare const client: Client\n`
  const flags = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions']
  const target = [
    '--target',
    'es2022',
    '--lib',
    'es2022,esnext.disposable',
    '--module',
    'nodenext',
    '--types',
    'node',
    '--typeRoots',
    TYPES,
  ]
  const words = [...flags, ...target]
  await check('samples.mts', head + blocks.join('\n'), join(ROOT, 'node_modules', '.bin', 'tsc'), ...words)
})

testWith('python3')('the samples in Python call functions of the client', async () => {
  const samples = samplesOf('Python')
  const names = samples.map((sample) => /client\.(\w+)\(/.exec(sample)?.[1])
  const head = `from multihub_client import Client\nfor name in ${JSON.stringify(names)}: getattr(Client, name)\n`
  const unused = `def never(client):\n${samples.join('\n').replaceAll(/^/gm, '    ')}\n`
  await writeFile(join(folder, 'samples.py'), head + unused)
  const env = {
    ...process.env,
    PYTHONPATH: join(ROOT, 'clients', 'python', 'src'),
    PYTHONDONTWRITEBYTECODE: '1',
  }
  await run('python3', [join(folder, 'samples.py')], { env })
})

testWith('php')('the samples in PHP are programs', () =>
  check('samples.php', `<?php\n${samplesOf('PHP').join('\n')}`, 'php', '-l'),
)

testWith(
  'bash',
  'openssl',
  'curl',
)('the samples with curl are signed for their version', async () => {
  const { base_url, merchants } = system.demo()
  const [alpha] = merchants
  for (const [document, version] of [
    [OPENAPI_DOCUMENT, 'v1'],
    [OPENAPI_DOCUMENT_V2, 'v2'],
  ] as const) {
    const { application_id, secret } = alpha?.credentials.find((one) => one.api_version === version) ?? {}
    const env = { ...process.env, BASE_URL: base_url, APPLICATION_ID: `${application_id}`, SECRET: secret }
    const codeOf = async (method: string) => {
      const [{ source = '' } = {}] =
        document.paths[`/public/api/multihub/${version}#${method}`].post['x-codeSamples']
      const { stdout } = await run('bash', ['-euc', source], { env })
      const { success, error } = JSON.parse(stdout)
      return success ? undefined : error.code
    }
    expect(await codeOf('gateway.ping')).toBeUndefined()
    expect(await codeOf('ticket.summary')).toBeUndefined()
    // The route of the example is not one of this system.
    expect(await codeOf('payment.in')).toBe(1004)
  }
})
