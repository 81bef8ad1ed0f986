import { expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ownerOfCredentialSecret } from '#lib/contract/secret-owners.ts'
import { openTestStore } from '../../test/support/store.ts'
import { createTestGateway, keys, SECRET, send } from '../gateway.fixture.ts'

/** Two credentials of one merchant, and one of another merchant. */
const MERCHANTS: Readonly<Record<string, string>> = { 2001: '7001', 2002: '7001', 2003: '7002' }

/** How the gateway answers three pings of each credential, one credential after the other. */
async function answersUnder(limits: { dailyLimit?: bigint; rateLimits?: Record<string, number> }) {
  await using test_store = await openTestStore()
  const app = await createTestGateway({
    store: test_store.store,
    registryService: {
      getCredential({ applicationId }) {
        const owner = ownerOfCredentialSecret(Number(applicationId))
        return {
          credential: {
            applicationId,
            merchantId: MERCHANTS[applicationId] ?? '',
            apiVersion: ApiVersion.V1,
            environment: Environment.TEST,
            status: CredentialStatus.ACTIVE,
            ...limits,
          },
          secrets: [{ sealed: keys.credential.seal(new Secret(SECRET), owner) }],
          merchantEnvironments: [Environment.TEST],
        }
      },
    },
  })
  const answers: Record<string, number[]> = {}
  for (const application_id of Object.keys(MERCHANTS)) {
    const codes: number[] = []
    for (let count = 0; count < 3; count += 1) {
      const { status, body } = await send(app, { headers: { 'x-data-application-id': application_id } })
      codes.push(body.error?.code ?? status)
    }
    answers[application_id] = codes
  }
  await app.close()
  return answers
}

// E10
test('each credential has its own quota of a method, also beside others of its merchant', async () => {
  const codes = [200, 200, 1000]
  const answers = await answersUnder({ rateLimits: { 'gateway.ping': 2 } })
  expect(answers).toEqual({ 2001: codes, 2002: codes, 2003: codes })
})

test('each credential has its own daily limit, also beside others of its merchant', async () => {
  const codes = [200, 200, 3009]
  expect(await answersUnder({ dailyLimit: 2n })).toEqual({ 2001: codes, 2002: codes, 2003: codes })
})
