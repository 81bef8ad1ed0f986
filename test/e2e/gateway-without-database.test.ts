import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { runToEnd, type SystemProcess, startProcess } from '../support/child.ts'
import { eventually } from '../support/eventually.ts'
import { type PublicResponse, send } from '../support/public-client.ts'
import { mongodbForTests, natsForTests, startPrivateMongoProxy } from '../support/servers.ts'
import type { DemoCredential } from '../support/sign-request.ts'
import { PATHS, signV1, signV2 } from '../support/sign-request.ts'
import { createSystemSettings, type SystemSettings } from '../support/system-settings.ts'

const nats = await natsForTests()
const mongodb = await mongodbForTests()
const PING = JSON.stringify({ method: 'gateway.ping', params: {} })
const RUN = 'test/support/local-roles.ts'

/** Creates a merchant with a credential for each version of the API. */
async function createCredentials(settings: SystemSettings): Promise<Record<'v1' | 'v2', DemoCredential>> {
  const rpc = await settings.connectAs('backoffice')
  try {
    const clientOf = rpc.clientsOf('backoffice')
    const given = { name: 'Alpha', timezone: 'UTC', environments: [Environment.TEST], operationId: 'alpha' }
    const { merchant } = await clientOf(MerchantService).createMerchant(given)
    const create = async (api_version: 'v1' | 'v2'): Promise<DemoCredential> => {
      const { credential, secret } = await clientOf(CredentialService).createCredential({
        merchantId: merchant?.merchantId ?? '',
        environment: Environment.TEST,
        operationId: api_version,
        apiVersion: api_version === 'v1' ? ApiVersion.V1 : ApiVersion.V2,
      })
      return { application_id: Number(credential?.applicationId), secret, api_version }
    }
    return { v1: await create('v1'), v2: await create('v2') }
  } finally {
    rpc.close()
  }
}

if ('skip' in nats || 'skip' in mongodb) {
  const reason = 'skip' in mongodb ? mongodb.skip : 'there is no NATS'
  test.skip(`a gateway without its database: ${reason}`, () => {})
} else {
  // E13
  test('a gateway that loses its database stays ready, says so, and answers what needs no nonce', async () => {
    const proxy = await startPrivateMongoProxy(mongodb.uri)
    if ('skip' in proxy) throw new Error(proxy.skip)
    const home = await mkdtemp(join(tmpdir(), 'multihub-gateway-'))
    const settings = await createSystemSettings({ home, nats_url: nats.url, mongodb_uri: mongodb.uri })
    const started: SystemProcess[] = []
    try {
      await runToEnd('main.ts', ['migrate'], settings.shared)
      started.push(await startProcess(RUN, ['merchants'], settings.variablesOf('merchants')))
      const variables = { ...settings.variablesOf('gateway'), MONGODB_URI: proxy.uri }
      const gateway = await startProcess(RUN, ['gateway'], variables)
      started.push(gateway)
      const { base_url = '', health_url = '' } = gateway.urls
      const { v1, v2 } = await createCredentials(settings)
      const pingV1 = (): Promise<PublicResponse> =>
        send(base_url, { path: PATHS.v1, headers: signV1(v1, PING), body: PING })
      const pingV2 = (): Promise<PublicResponse> =>
        send(base_url, { path: PATHS.v2, headers: signV2(v2, PING), body: PING })
      const readiness = async (): Promise<string> => {
        const response = await fetch(`${health_url}/readyz`)
        return `${response.status} ${await response.text()}`
      }
      expect(await pingV2()).toMatchObject({ http_status: 200 })
      expect(await readiness()).toBe('200 ready\n')

      await proxy.cut()
      const limitation =
        'gateway: the database cannot be reached; requests that need it are answered with 2002'
      const [, limited] = await eventually(
        async () => ['', await readiness()],
        (answer) => answer?.[1] !== '200 ready\n',
      )
      expect(limited).toBe(`200 ready\n${limitation}\n`)
      expect(await pingV1()).toMatchObject({ http_status: 200, body: { success: true } })
      expect(await pingV2()).toMatchObject({ http_status: 503, body: { error: { code: 2002 } } })

      await proxy.restore()
      await eventually(readiness, (answer) => answer === '200 ready\n')
      expect(await pingV2()).toMatchObject({ http_status: 200 })
    } finally {
      for (const process of started) await process.kill()
      await proxy.stop()
      await rm(home, { recursive: true, force: true })
      await nats.stop()
    }
  })
}
