import { expect, test } from '@jest/globals'
import { backoffDelay } from '#lib/base/backoff.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { verifySignedRequest } from '#lib/base/crypto/signed-request.ts'
import type { HttpRequest } from '#lib/http/client.ts'
import { newOperation } from '../domain/operation.ts'
import { paymentScenario } from '../domain/scenario.ts'
import { bindSendCallback, callbackEffects } from './send-callback.ts'

const KEY = new Secret('sandbox-key-of-the-tests-0123456789abcdef')
const PROVIDER_ID = '0190a0b0-0000-7000-8000-00000000000a'
const created_at = new Date('2026-11-21T12:00:00Z')
const scenario = paymentScenario('deposit', 1909n)

function newDeposit(expires_at: Date) {
  const order = {
    kind: 'deposit' as const,
    idempotency_key: 'k1',
    amount: 1909n,
    currency: 'INR',
    method: 'upi',
    callback_url: 'http://127.0.0.1:1/callbacks?payment=1',
    expires_at,
    payer: {},
  }
  return newOperation('sandbox', order, scenario, {
    provider_id: PROVIDER_ID,
    now: created_at,
    delay_ms: 1000,
  })
}

const deposit = newDeposit(new Date('2026-11-21T13:00:00Z'))
const effects = callbackEffects(deposit, scenario.callbacks)

/** A handler whose requests all get this HTTP status, and those requests. */
function handlerWith(status: number) {
  const requests: HttpRequest[] = []
  const http = {
    request: async (request: HttpRequest) => {
      requests.push(request)
      return { status, headers: {}, body: Buffer.alloc(0), truncated: false }
    },
    close: async () => {},
  }
  const { signal } = new AbortController()
  return { requests, handler: bindSendCallback({ http, key: KEY, stopping: signal }) }
}

async function runAll(status: number): Promise<HttpRequest[]> {
  const { handler, requests } = handlerWith(status)
  for (const effect of effects) await handler.run(effect, { ...deposit, version: 1 })
  return requests
}

test('adds one effect per callback, due at completion, each after the previous one', () => {
  expect(effects.map(({ data }) => data['content'])).toEqual(['other_amount', 'result', 'pending'])
  expect(effects.map(({ due_at }) => due_at)).toEqual(Array(3).fill(new Date('2026-11-21T12:00:01Z')))
  expect(effects.map(({ after }) => after)).toEqual([undefined, effects[0]?.id, effects[1]?.id])
})

test('adds no effect to an operation that never completes', () => {
  expect(callbackEffects(newDeposit(created_at), scenario.callbacks)).toEqual([])
})

test('posts a signed report', async () => {
  const requests = await runAll(204)
  for (const { method, url, createHeaders, body } of requests) {
    expect({ method, url }).toEqual({ method: 'POST', url: deposit.callback_url })
    const signed = {
      account_id: 'sandbox',
      method,
      path: '/callbacks?payment=1',
      body: body ?? Buffer.alloc(0),
    }
    expect(verifySignedRequest(KEY, signed, createHeaders?.() ?? {})).toBe(true)
  }
  const reports = requests.map(({ body }) => JSON.parse(String(body)))
  expect(reports).toMatchObject([
    { status: 'success', amount: 1910 },
    { status: 'success', amount: 1909 },
    { status: 'pending', amount: 1909 },
  ])
})

test.each([199, 300, 404, 500])('a callback that gets HTTP %i is a failed try', async (status) => {
  await expect(runAll(status)).rejects.toThrow(`callback was not acknowledged: HTTP ${status}`)
})

test('tries an unacknowledged callback 12 times within about six minutes', () => {
  const { tries_max, backoff } = handlerWith(500).handler
  if (backoff === undefined) throw new Error('the handler has no back-off')
  const failures = Array.from({ length: tries_max - 1 }, (_, place) => place + 1)
  const longest = failures.map((count) => backoffDelay(count, backoff, 1) / 1000)
  expect(longest).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60])
})
