import { describe, expect, test } from '@jest/globals'
import { testWith } from '../support/needs.ts'
import { opensslHmac, opensslSha256, opensslSha512 } from '../support/openssl.ts'
import {
  type CallbackVector,
  type RequestVector,
  readVectors,
  type SignedVector,
  type V2ResponseVector,
  type WebhookSecretVector,
} from './vectors.ts'

const v1Requests = readVectors<RequestVector>('v1-request')
const v1Responses = readVectors<SignedVector>('v1-response')
const v2Requests = readVectors<RequestVector>('v2-request')
const v2Responses = readVectors<V2ResponseVector>('v2-response')
const resends = readVectors<RequestVector>('resend')
const callbacks = readVectors<CallbackVector>('callback')
const webhookSecrets = readVectors<WebhookSecretVector>('webhook-secret')

test('every body has the length that its vector states', () => {
  for (const { body, body_bytes } of [
    ...v1Requests,
    ...v1Responses,
    ...v2Requests,
    ...v2Responses,
    ...resends,
    ...callbacks,
  ])
    expect(Buffer.byteLength(body)).toBe(body_bytes)
})

const testWithOpenssl = testWith('openssl')

describe('openssl computes the same signature', () => {
  testWithOpenssl.each([...v1Requests, ...v1Responses])(
    'v1: $name',
    ({ body, secret, signed_text, headers }) => {
      expect(signed_text).toBe(body + secret)
      expect(opensslSha512(signed_text)).toBe(headers['X-Data-Hash'])
    },
  )

  testWithOpenssl.each(v2Requests)('v2 request: $name', (vector) => {
    const { application_id, secret, timestamp, nonce, body, signed_text, headers } = vector
    const lines = ['service-multihub-request-v2', application_id, 'POST', '/public/api/multihub/v2']
    expect(signed_text).toBe([...lines, timestamp, nonce, opensslSha256(body)].join('\n'))
    expect(opensslHmac('sha512', secret, signed_text)).toBe(headers['X-Data-Signature'])
  })

  testWithOpenssl.each(v2Responses)('v2 response: $name', (vector) => {
    const { application_id, request_nonce, request_id, http_status, body, signed_text } = vector
    const lines = ['service-multihub-response-v2', application_id, request_nonce, request_id, http_status]
    expect(signed_text).toBe([...lines, opensslSha256(body)].join('\n'))
    expect(opensslHmac('sha512', vector.secret, signed_text)).toBe(vector.headers['X-Data-Signature'])
  })

  testWithOpenssl.each(resends)(
    'resend: $name',
    ({ secret, path, timestamp, nonce, body, signed_text, headers }) => {
      const replay_lines = `service-merchant-webhook-resend-v1\nPOST\n${path}\n${timestamp}\n${nonce}\n\n`
      expect(signed_text).toBe((timestamp === null ? '' : replay_lines) + body + secret)
      expect(opensslSha512(signed_text)).toBe(headers['X-Data-Hash'])
    },
  )

  testWithOpenssl.each(callbacks)('callback: $name', (vector) => {
    const { secret, timestamp, nonce, webhook_id, body, signed_text, headers } = vector
    expect(signed_text).toEqual({
      'X-Data-Hash': body + secret,
      'X-Webhook-Signature-V2': timestamp + body + secret,
      'X-Webhook-Signature-V3': `${timestamp}.${nonce}.${webhook_id}.${body}`,
    })
    const { 'X-Data-Hash': v1 = '', 'X-Webhook-Signature-V2': v2 = '' } = signed_text
    expect(opensslSha512(v1)).toBe(headers['X-Data-Hash'])
    expect(opensslSha512(v2)).toBe(headers['X-Webhook-Signature-V2'])
    const v3 = opensslHmac('sha512', secret, signed_text['X-Webhook-Signature-V3'] ?? '')
    expect(v3).toBe(headers['X-Webhook-Signature-V3'])
  })

  testWithOpenssl.each(webhookSecrets)(
    'webhook secret: $name',
    ({ api_secret, signed_text, webhook_secret }) => {
      expect(signed_text).toBe('service:merchant-webhook-signing:v1')
      expect(opensslHmac('sha256', api_secret, signed_text)).toBe(webhook_secret)
    },
  )
})
