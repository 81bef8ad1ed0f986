import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  type CallbackVector,
  type RequestVector,
  readVectors,
  type SignedVector,
  type V2ResponseVector,
  type WebhookSecretVector,
} from '../vectors/vectors.ts'
import { describeLanguage, LANGUAGES, OTHER_FORMS } from './languages.ts'
import type { Runner } from './runner.ts'

interface CheckAct {
  readonly act: 'check'
  readonly scheme: 'v1' | 'v2'
  readonly secret: string
  readonly body: string
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

for (const language of [...LANGUAGES, ...OTHER_FORMS])
  describeLanguage(language)(`the client in ${language.name}`, () => {
    const { build, start } = language
    let folder: string
    let runner: Runner
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'multihub-client-'))
      build?.(folder)
      runner = start(folder)
    })
    afterAll(async () => {
      await runner?.stop()
      await rm(folder, { recursive: true, force: true })
    })
    const resultOf = async (act: object): Promise<unknown> => (await runner.act(act)).result
    /** Expects that a signature is right, and wrong with one digit, one byte or no text changed. */
    async function expectChecked(act: CheckAct, signature: string): Promise<void> {
      expect(await resultOf({ ...act, signature })).toBe(true)
      const other = signature.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
      for (const wrong of [other, '', signature.toUpperCase(), `${signature}0`])
        expect(await resultOf({ ...act, signature: wrong })).toBe(false)
      expect(await resultOf({ ...act, body: `${act.body} `, signature })).toBe(false)
    }

    test.each(['v1-request', 'v2-request', 'resend'])('signs as the vectors of %s', async (file) => {
      const scheme = file.replace('-request', '')
      for (const { name, headers, ...vector } of readVectors<RequestVector>(file))
        expect({ name, headers: await resultOf({ act: 'sign', scheme, ...vector }) }).toEqual({
          name,
          headers,
        })
    })

    test('verifies v1 responses', async () => {
      for (const { secret, body, headers } of readVectors<SignedVector>('v1-response'))
        await expectChecked({ act: 'check', scheme: 'v1', secret, body }, headers['X-Data-Hash'] ?? '')
    })

    test('verifies v2 responses', async () => {
      for (const { headers, ...vector } of readVectors<V2ResponseVector>('v2-response')) {
        const act = { act: 'check', scheme: 'v2', ...vector } as const
        const signature = headers['X-Data-Signature'] ?? ''
        await expectChecked(act, signature)
        for (const changed of [
          { http_status: 404 },
          { request_nonce: 'another-nonce-0000' },
          { request_id: 'b' },
        ])
          expect(await resultOf({ ...act, ...changed, signature })).toBe(false)
      }
    })

    test('derives the secret of a webhook_url', async () => {
      for (const { api_secret, webhook_secret } of readVectors<WebhookSecretVector>('webhook-secret'))
        expect(await resultOf({ act: 'webhook_secret', api_secret })).toBe(webhook_secret)
    })

    test('gives each refund of a payment its own key, and a repeated callback the same one', async () => {
      const keyOf = (id: string, result: object, request_id = 'a') =>
        resultOf({ act: 'key', callback: { id, data: { result, success: true, request_id } } })
      const refunded = (status: string, ...refunds: readonly string[]) => ({
        payment: {
          status: { status },
          operations: ['p', ...refunds].map((one) => ({ id: one, status: { status: 'success' } })),
        },
      })
      const id = 'p:payment.refunded'
      const first = await keyOf(id, refunded('partially_refunded', 'r1'))
      expect(first).toBe(`${id}|partially_refunded|p=success|r1=success`)
      expect(await keyOf(id, refunded('partially_refunded', 'r1'), 'b')).toBe(first)
      expect(await keyOf(id, refunded('partially_refunded', 'r1', 'r2'))).toBe(`${first}|r2=success`)
      expect(await keyOf('t:ticket.updated:2', { ticket: {} })).toBe('t:ticket.updated:2')
    })

    test('verifies callbacks of the last five minutes, and nothing that differs from them', async () => {
      for (const {
        secret,
        headers: named,
        body,
        timestamp,
        webhook_id,
        nonce,
      } of readVectors<CallbackVector>('callback')) {
        const sent = { timestamp, id: webhook_id, nonce }
        const more = Object.entries(sent).map(([key, value]) => [`x-webhook-${key}`, value])
        const headers = { ...lowerCase(named), ...Object.fromEntries(more) }
        const now_ms = Date.parse(timestamp)
        const act = { act: 'verify', headers, body, secrets: [secret], now_ms }
        const reasonOf = async (changed: object): Promise<unknown> =>
          (await runner.act({ ...act, ...changed })).error?.reason
        const known = body.startsWith('{') ? await runner.act(act) : undefined
        if (known !== undefined) expect(known).toEqual({ result: JSON.parse(body).id ?? null })
        expect(await reasonOf({ body: `${body} ` })).toBe('signature')
        expect(await reasonOf({ secrets: ['0'.repeat(64)] })).toBe('signature')
        expect(await reasonOf({ secrets: ['0'.repeat(64), secret] })).toBe(undefined)
        expect(await reasonOf({ now_ms: now_ms + 300_000 })).toBe(undefined)
        expect(await reasonOf({ now_ms: now_ms + 300_001 })).toBe('timestamp')
        expect(await reasonOf({ now_ms: now_ms - 300_001 })).toBe('timestamp')
        for (const missing of ['timestamp', 'id', 'nonce', 'signature-v3'])
          expect(await reasonOf({ headers: { ...headers, [`x-webhook-${missing}`]: undefined } })).toBe(
            'missing_header',
          )
        expect(await reasonOf({ body: 'x'.repeat(256 * 1024 + 1) })).toBe('too_large')
        expect((await runner.act({ ...act, secrets: [''] })).error?.kind).toBe('other')
      }
    })
  })
