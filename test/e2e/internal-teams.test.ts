import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import {
  type Client,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import { testWith } from '../support/needs.ts'
import { SERVERS_FOLDER } from '../support/programs.ts'
import { skipWithout } from '../support/skip.ts'
import { type SystemHere, startHere } from '../support/system.ts'

/** A team has the address, a token, `proto/` and the public packages of its language, but none of our code. */
const ROOT = join(import.meta.dirname, '..', '..')
const PROTOS = join(ROOT, 'proto')
const TEAM_TOKEN = 'a token of the reporting team'.replaceAll(' ', '-')
const require = createRequire(import.meta.url)
const run = promisify(execFile)

let system: SystemHere
let address: string
beforeAll(async () => {
  const sha256 = createHash('sha256').update(TEAM_TOKEN).digest('hex')
  system = await startHere({ MULTIHUB_RPC_CALLERS: `internal:${sha256}` })
  address = new URL(system.demo().grpc_url).host
})
afterAll(() => system?.end())

// biome-ignore lint/suspicious/noExplicitAny: clients made at run time have no types
type Dynamic = any

const clients: Client[] = []
afterAll(() => {
  for (const client of clients) client.close()
})

/** A client of a service, made at run time from its proto file. */
function clientOf(service: string, file: string, folders: readonly string[] = [PROTOS]): Dynamic {
  const definition = loadSync(file, {
    includeDirs: [...folders],
    keepCase: true,
    longs: String,
    enums: String,
  })
  const path = service.split('.')
  const client_class = path.reduce((place: Dynamic, name) => place[name], loadPackageDefinition(definition))
  const client = new client_class(address, credentials.createInsecure())
  clients.push(client)
  return client
}

function metadata(token?: string): Metadata {
  const sent = new Metadata()
  if (token !== undefined) sent.set('authorization', `Bearer ${token}`)
  sent.set('x-request-id', 'team-1')
  return sent
}

function call(client: Dynamic, method: string, request: object, token?: string): Promise<Dynamic> {
  const options = { deadline: performance.timeOrigin + performance.now() + HANG_LIMIT_MS }
  return new Promise((resolve, reject) => {
    client[method](request, metadata(token), options, (error: ServiceError | null, response: Dynamic) =>
      error ? reject(error) : resolve(response),
    )
  })
}

describe('a gRPC client that has only our protos', () => {
  const merchants = () =>
    clientOf('multihub.merchants.v1.MerchantService', 'multihub/merchants/v1/merchant_service.proto')

  test('reads SERVING from the health service without a token', async () => {
    const { protoPath } = require('grpc-health-check')
    const health = clientOf('grpc.health.v1.Health', protoPath, [])
    for (const service of ['', 'multihub.balances.v1.BalanceService'])
      expect(await call(health, 'Check', { service })).toEqual({ status: 'SERVING' })
  })

  test.each(['v1', 'v1alpha'])(
    'lists the services by reflection (%s) with a valid token only',
    async (version) => {
      const folder = join(require.resolve('@grpc/reflection'), '..', '..', 'proto', 'grpc', 'reflection')
      const file = join(folder, version, 'reflection.proto')
      const reflection = clientOf(`grpc.reflection.${version}.ServerReflection`, file, [])
      const list = (token?: string): Promise<readonly string[]> =>
        new Promise((resolve, reject) => {
          const stream = reflection.ServerReflectionInfo(metadata(token))
          stream.on('error', reject)
          stream.on('data', (response: Dynamic) => {
            stream.end()
            resolve(response.list_services_response.service.map(({ name }: { name: string }) => name))
          })
          stream.write({ list_services: '' })
        })
      expect(await list(TEAM_TOKEN)).toEqual(
        expect.arrayContaining([
          'multihub.balances.v1.BalanceService',
          'multihub.merchants.v1.MerchantService',
          'multihub.notifier.v1.DeliveryService',
          'multihub.payments.v1.PaymentService',
        ]),
      )
      // The token of the operator is for the back office only.
      for (const token of [undefined, 'not-a-token', system.demo().operator.token])
        await expect(list(token)).rejects.toMatchObject({ code: status.UNAUTHENTICATED })
    },
  )

  test('calls an RPC with a token, and is refused without one', async () => {
    const merchant_id = system.demo().merchants[0]?.merchant_id
    const response = await call(merchants(), 'GetMerchant', { merchant_id }, TEAM_TOKEN)
    expect(response.merchant).toMatchObject({
      merchant_id,
      name: 'alpha',
      environments: ['ENVIRONMENT_TEST'],
    })
    for (const token of [undefined, 'not-a-token']) {
      await expect(call(merchants(), 'GetMerchant', { merchant_id }, token)).rejects.toMatchObject({
        code: status.UNAUTHENTICATED,
      })
    }
  })

  // C1
  test('is refused an RPC that does not permit the team', async () => {
    const wanted = { name: 'gamma', timezone: 'Asia/Kolkata', environments: ['ENVIRONMENT_TEST'] }
    await expect(call(merchants(), 'CreateMerchant', wanted, TEAM_TOKEN)).rejects.toMatchObject({
      code: status.PERMISSION_DENIED,
      details: 'internal may not call multihub.merchants.v1.MerchantService/CreateMerchant',
    })
    const { merchants: existing } = await call(merchants(), 'ListMerchants', {}, TEAM_TOKEN)
    expect(existing.map(({ name }: { name: string }) => name)).not.toContain('gamma')
  })

  test('gets the public code of an error as a detail, and the request id', async () => {
    const refused: ServiceError = await call(
      merchants(),
      'GetMerchant',
      { merchant_id: '9' },
      TEAM_TOKEN,
    ).then(
      () => expect(true).toBe('refused'),
      (error) => error,
    )
    expect(refused).toMatchObject({ code: status.FAILED_PRECONDITION })
    const [details] = refused.metadata.get('grpc-status-details-bin')
    const text = details?.toString() ?? ''
    expect(text).toContain('type.googleapis.com/multihub.common.v1.ErrorDetail')
    expect(text).toContain('{"description":"merchant_id"')
    expect(refused.metadata.get('x-request-id')).toEqual(['team-1'])
  })
})

testWith('bash', 'curl')('the commands of docs/internal-teams.md create a merchant', async () => {
  const page = await readFile(join(ROOT, 'docs', 'internal-teams.md'), 'utf8')
  const [, commands = ''] = /```sh\n(BACKOFFICE_URL=.*?)```/s.exec(page) ?? []
  const { backoffice_url, operator } = system.demo()
  const program = commands.replace('http://127.0.0.1:9096', backoffice_url)
  const env = { PATH: process.env['PATH'] ?? '', TOKEN: operator.token }
  const { stdout } = await run('bash', ['--norc', '-c', program], { env })
  const responses = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const owned = { merchantId: responses[0].merchant.merchantId, environment: 'ENVIRONMENT_TEST' }
  expect(responses).toMatchObject([
    { merchant: { name: 'delta' } },
    {
      credential: { ...owned, apiVersion: 'API_VERSION_V1' },
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
    { route: { ...owned, method: 'upi', enabled: true } },
    { endpoint: { ...owned, enabled: true }, secret: expect.stringMatching(/^[0-9a-f]{64}$/) },
  ])
})

/** The packages of Python that `scripts/servers/install` provides. */
const PACKAGES = join(SERVERS_FOLDER, 'python')
const python = (words: readonly string[], folder = PACKAGES) => {
  const path = [folder, PACKAGES, process.env['PYTHONPATH']].filter(Boolean).join(delimiter)
  return run('python3', words, { cwd: PROTOS, env: { ...process.env, PYTHONPATH: path } })
}
const has_python = await python(['-c', 'import grpc, grpc_tools, grpc_status']).then(
  () => true,
  () => false,
)
if (!has_python) {
  const { skip } = skipWithout('python3 has no grpcio, grpcio-tools and grpcio-status')
  test.skip(`the Python client of docs/internal-teams.md: ${skip}`, () => {})
} else {
  test('the Python client of docs/internal-teams.md works', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'multihub-python-'))
    try {
      const page = await readFile(join(ROOT, 'docs', 'internal-teams.md'), 'utf8')
      const [, program = ''] = /```python\n(.*?)```/s.exec(page) ?? []
      await writeFile(join(folder, 'team.py'), program)
      const files = (await readdir(PROTOS, { recursive: true })).filter((name) => name.endsWith('.proto'))
      const output = [`--python_out=${folder}`, `--grpc_python_out=${folder}`]
      await python(['-m', 'grpc_tools.protoc', '-I', PROTOS, ...output, ...files])
      const { stdout } = await python([join(folder, 'team.py'), address, TEAM_TOKEN], folder)
      expect(stdout).toMatch(/^routes of alpha by upi: True\n[A-Z_]+ 9000 \{.*"page_size".*\}\n$/)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
}
