import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { ApiVersion, CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { hmacHex, sha256Hex, sha512WithSecret } from '#lib/base/crypto/hash.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ownerOfCredentialSecret, ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import { V2_SCHEME, v1Scheme } from '../../gateway/auth/signature-schemes.ts'
import { createTestGateway, keys, send, type TestResponse } from '../../gateway/gateway.fixture.ts'
import { sealWebhook } from '../../gateway/methods/new-payments.ts'
import { V1_PATH, V2_PATH } from '../../gateway/paths.ts'
import { signDelivery } from '../../services/notifier/delivery/sign-delivery.ts'
import { type InstalledClock, installManualClock } from '../support/manual-clock.ts'
import {
  type CallbackVector,
  type RequestVector,
  readVectors,
  type SignedVector,
  type V2ResponseVector,
  type WebhookSecretVector,
} from './vectors.ts'

/** The time of the vectors' timestamps. */
const VECTORS_AT_MS = 1_795_219_200_000

let clock: InstalledClock
beforeAll(() => {
  clock = installManualClock(VECTORS_AT_MS)
})
afterAll(() => clock[Symbol.dispose]())

/** Sends a vector's request to a gateway whose registry has only the credential of the vector. */
async function sendToGateway(
  vector: RequestVector,
  path: string,
  apiVersion: ApiVersion,
): Promise<TestResponse> {
  const { application_id: applicationId, secret, body, headers } = vector
  const sealed = keys.credential.seal(new Secret(secret), ownerOfCredentialSecret(applicationId))
  const environment = Environment.TEST
  const getCredential = () => ({
    credential: {
      applicationId,
      merchantId: '7001',
      apiVersion,
      environment,
      status: CredentialStatus.ACTIVE,
    },
    secrets: [{ sealed }],
    merchantEnvironments: [environment],
  })
  const app = await createTestGateway({ registryService: { getCredential } })
  const lower_case_headers = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  const sent = { 'x-data-hash': undefined, ...Object.fromEntries(lower_case_headers) }
  const response = await send(app, { raw: body, path, headers: sent })
  await app.close()
  return response
}

const resends = readVectors<RequestVector>('resend')

describe('the gateway', () => {
  test.each(readVectors<RequestVector>('v1-request'))('accepts the v1 request: $name', async (vector) => {
    const { text, headers } = await sendToGateway(vector, V1_PATH, ApiVersion.V1)
    const hash = sha512WithSecret(Buffer.from(text), new Secret(vector.secret))
    expect(headers['x-data-hash']).toBe(hash)
  })

  test.each(readVectors<RequestVector>('v2-request'))('accepts the v2 request: $name', async (vector) => {
    const { text, headers, status } = await sendToGateway(vector, V2_PATH, ApiVersion.V2)
    const { application_id, nonce, secret } = vector
    const lines = ['service-multihub-response-v2', application_id, nonce, headers['x-request-id'], status]
    const signed = [...lines, sha256Hex(text)].join('\n')
    expect(headers['x-data-signature']).toBe(hmacHex('sha512', new Secret(secret), signed))
  })

  test.each(resends)('accepts the resend request: $name', async (vector) => {
    const { text, headers } = await sendToGateway(vector, vector.path ?? '', ApiVersion.V1)
    const hash = sha512WithSecret(Buffer.from(text), new Secret(vector.secret))
    expect(headers['x-data-hash']).toBe(hash)
  })

  test.each(readVectors<SignedVector>('v1-response'))('signs the v1 response: $name', (vector) => {
    const { digest, readSignedContent } = v1Scheme(300_000)
    const { responseBytes } = readSignedContent(requestWith([]), '1001', Buffer.of())
    const response = { request_id: '', http_status: 200, body: Buffer.from(vector.body) }
    const hash = digest(responseBytes(response), new Secret(vector.secret))
    expect(hash).toBe(vector.headers['X-Data-Hash'])
  })

  test.each(readVectors<V2ResponseVector>('v2-response'))('signs the v2 response: $name', (vector) => {
    const { application_id, request_nonce, request_id, http_status, body, secret } = vector
    const request = requestWith(['X-Data-Timestamp', '1795219200', 'X-Data-Nonce', request_nonce])
    const { responseBytes } = V2_SCHEME.readSignedContent(request, application_id, Buffer.of())
    const response = { request_id, http_status, body: Buffer.from(body) }
    const signature = V2_SCHEME.digest(responseBytes(response), new Secret(secret))
    expect(signature).toBe(vector.headers['X-Data-Signature'])
  })

  test.each(readVectors<WebhookSecretVector>('webhook-secret'))(
    'derives the webhook secret of: $name',
    (vector) => {
      const caller = { merchant_id: '7001', secret: new Secret(vector.api_secret) }
      const { sealedSecret } = sealWebhook('https://example.com/', 'order-1', caller, keys.webhook)
      expect(
        keys.webhook
          .unseal(sealedSecret, ownerOfWebhookSecret({ merchant_id: '7001', c_id: 'order-1' }))
          .reveal(),
      ).toBe(vector.webhook_secret)
    },
  )
})

test.each(readVectors<CallbackVector>('callback'))('the notifier signs: $name', (vector) => {
  const { body, secret, webhook_id, timestamp, nonce, headers } = vector
  const signed = signDelivery(Buffer.from(body), new Secret(secret), webhook_id, new Date(timestamp), nonce)
  expect(signed).toEqual(headers)
})

/** A received request with raw headers and nothing else. */
function requestWith(raw_headers: readonly string[]): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { rawHeaders: [...raw_headers] })
}
