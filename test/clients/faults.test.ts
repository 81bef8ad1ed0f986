import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { ROOT } from '../../scripts/sources/sources.ts'
import { signDelivery } from '../../services/notifier/delivery/sign-delivery.ts'
import { eventually } from '../support/eventually.ts'
import { HANG_LIMIT_MS } from '../support/hang-limit.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { casesOf } from '../support/property-runs.ts'
import { callbackSecret } from '../support/receiver.ts'
import { type SystemHere, startHere } from '../support/system.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { describeLanguage, LANGUAGES } from './languages.ts'
import type { Runner, RunnerAnswer } from './runner.ts'
import { SCENARIOS, type Scenario } from './scenarios.ts'

const AMOUNT = 12_300
const TOO_MUCH = 9_000_000_000_000_00
const BANK = { account: { id: '123456789012' }, ifsc: 'SBIN0001234' }

/** Short waits, and more tries than any scenario has faults. */
const RETRIES = { timeout_ms: 3_000, tries_max: 5, wait_ms: 10, wait_max_ms: 2_000, deadline_ms: 60_000 }

let system: SystemHere
let proxy: FaultProxy
let alpha: MerchantClient
beforeAll(async () => {
  system = await startHere({ MULTIHUB_SCANNER: 'none' })
  proxy = await startFaultProxy(system.demo().base_url)
  alpha = merchantClient(system.demo)
})
afterAll(async () => {
  await proxy?.stop()
  await system?.end()
})

for (const language of LANGUAGES)
  describeLanguage(language)(`the client in ${language.name}`, () => {
    const { middleware, page, program, build, start, features = [] } = language
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

    const credentialOf = (version: string) => {
      const credential = alpha.merchant.credentials.find(({ api_version }) => api_version === version)
      if (!credential) throw new Error(`demo.json has no ${version} credential`)
      return credential
    }
    const use = (version: 'v1' | 'v2', more: object = {}): Promise<RunnerAnswer> => {
      const { application_id, secret } = credentialOf(version)
      const settings = { base_url: proxy.url, version, application_id, secret, ...RETRIES, ...more }
      return runner.act({ act: 'settings', settings })
    }
    const requestOf = (method: string, c_id: string, value: number, webhook_url?: string): object => {
      const is_deposit = method === 'payment.in'
      const service_id = is_deposit ? alpha.route({}) : alpha.route({ direction: 'out', method: 'imps' })
      const party = is_deposit ? { payer: { email: 'customer@example.com' } } : { receiver: { bank: BANK } }
      const payment = { identifiers: { c_id }, amount: { value, currency: 'INR' }, ...party }
      return { service_id, params: { payment: { ...payment, ...(webhook_url && { webhook_url }) } } }
    }
    const createAct = (method: string, c_id: string, value = AMOUNT, webhook_url?: string): object => ({
      act: 'create',
      method,
      request: requestOf(method, c_id, value, webhook_url),
    })
    const callAct = (method: string, request: object): object => ({ act: 'call', method, request })

    /** Creates a payment under faults; returns whether it exists in the end. */
    async function play(scenario: Scenario): Promise<boolean> {
      const { faults, outcome, method = 'payment.out', is_too_much, text, sends = 1 } = scenario
      const c_id = randomUUID()
      const act = createAct(method, c_id, is_too_much ? TOO_MUCH : AMOUNT)
      // The answers that `old_refusal` and `stale` repeat.
      proxy.plan('pass')
      await runner.act(callAct('payment.out', requestOf('payment.out', randomUUID(), TOO_MUCH)))
      await runner.act(callAct('gateway.ping', {}))
      proxy.plan(...faults)
      const { result, error } = await runner.act(act)
      const seen = [...proxy.seen]
      proxy.plan('pass')
      await proxy.settle()
      // Whatever failed, the client has sent one request, byte for byte.
      const creates = seen.filter(({ body }) => body.includes(`"${method}"`))
      expect(new Set(creates.map(({ body }) => body)).size).toBe(1)
      if (method === 'payment.out')
        expect(new Set(creates.map(({ nonce = '' }) => nonce || 'none')).size).toBe(creates.length)
      expect(creates.length).toBeGreaterThanOrEqual(sends)
      if (typeof outcome === 'number') {
        expect(error).toMatchObject({ kind: 'refusal', code: outcome, retry: 'never' })
        return false
      }
      if (outcome === 'created') {
        expect({ error, c_id: result?.payment.identifiers.c_id }).toEqual({ error: undefined, c_id })
        return true
      }
      expect(error).toMatchObject({ kind: 'unknown' })
      if (text !== undefined) expect(error?.text).toContain(text)
      const resumed = await runner.act({ ...act, resume: true })
      expect(resumed.result?.payment.identifiers.c_id).toBe(c_id)
      return true
    }

    describe.each(['v1', 'v2'] as const)('on %s', (version) => {
      let expected: number
      beforeAll(async () => {
        await use(version)
        expected = await alpha.available()
      })

      // The first client has them all, and in CI each one.
      const scenarios = language === LANGUAGES[0] ? SCENARIOS : casesOf(SCENARIOS)
      test.each(scenarios)('creates at most one payment when $name', async (scenario) => {
        const exists = await play(scenario)
        if (exists && scenario.method !== 'payment.in') expected -= AMOUNT
      })

      if (features.includes('stop'))
        test('ends in an unknown outcome when it is stopped after it has sent the create', async () => {
          const act = createAct('payment.out', randomUUID())
          proxy.plan('hang')
          expect((await runner.act({ ...act, stop_ms: 300 })).error).toMatchObject({ kind: 'unknown' })
          proxy.plan('pass')
          await proxy.settle()
          expect((await runner.act({ ...act, resume: true })).result).toBeDefined()
          expected -= AMOUNT
        })

      test('has paid each withdrawal once', async () => {
        // The deposits of the table are credited as soon as they are paid.
        const deposits = scenarios.filter(({ method }) => method === 'payment.in').length
        await eventually(
          () => alpha.available(),
          (value) => value === expected + deposits * AMOUNT,
        )
      })
    })

    describe('in its daily work', () => {
      beforeAll(async () => {
        await use('v1')
        proxy.plan('pass')
      })

      test('says of a used c_id that it is used, unless the same payment is resumed', async () => {
        const c_id = randomUUID()
        expect((await runner.act(createAct('payment.in', c_id))).result).toBeDefined()
        const other = createAct('payment.in', c_id, AMOUNT + 1)
        for (const act of [other, { ...other, resume: true }])
          expect((await runner.act(act)).error).toMatchObject({ kind: 'refusal', code: 6009 })
        const same = { ...createAct('payment.in', c_id), resume: true }
        expect((await runner.act(same)).result.payment.identifiers.c_id).toBe(c_id)
        const paid = randomUUID()
        expect((await runner.act(createAct('payment.out', paid))).result).toBeDefined()
        const text = JSON.stringify({ ...createAct('payment.out', paid), resume: true })
        const to_another = JSON.parse(text.replace(BANK.account.id, '210987654321'))
        expect((await runner.act(to_another)).error).toMatchObject({ kind: 'refusal', code: 6009 })
      })

      test('begins no try after its deadline, although the look-up has used it up', async () => {
        await use('v1', { deadline_ms: RETRIES.timeout_ms - 1_000 })
        proxy.plan('drop_before', 'hang', 'pass')
        expect((await runner.act(createAct('payment.in', randomUUID()))).error).toMatchObject({
          kind: 'unknown',
        })
        expect(proxy.seen.length).toBe(2)
        await use('v1')
      })

      if (features.includes('undefined'))
        test('refuses a refund whose amount is undefined, because without one it would be a full refund', async () => {
          proxy.plan('pass')
          const c_id = randomUUID()
          const request = { params: { identifiers: { c_id }, payment: { c_id } } }
          const act = { ...callAct('refund.request', request), undefined_param: 'amount' }
          expect((await runner.act(act)).error?.message).toContain('params.amount is undefined')
          expect(proxy.seen).toEqual([])
        })

      test('shows no secret when its settings are printed', async () => {
        const { result } = await use('v1')
        expect(result).toEqual(expect.any(String))
        expect(result).not.toContain(credentialOf('v1').secret)
      })

      test('names the operation_id that it has generated when the call fails', async () => {
        const params = { ticket: { c_id: randomUUID() }, body: 'Thank you.' }
        for (const fault of ['unsigned_3001', 'pass'] as const) {
          proxy.plan(fault)
          const { error } = await runner.act(callAct('ticket.comment.create', { params }))
          expect(error?.operation_id).toEqual(expect.stringMatching(/\w{8}/))
          for (const { body } of proxy.seen) expect(JSON.parse(body).operation_id).toBe(error?.operation_id)
        }
      })

      test('reports a refusal of any request, such as one for a bad field, although a look-up is refused too', async () => {
        proxy.plan('pass')
        const refused = await runner.act(createAct('payment.out', 'c'.repeat(1_000)))
        expect(refused.error).toMatchObject({ kind: 'refusal', code: 9000 })
      })

      test.each(['v1', 'v2'] as const)(
        'says on %s that the secret may be wrong, without trying again',
        async (version) => {
          const other = { secret: '0'.repeat(64) }
          const hint = 'check the secret and the application id first'
          await use(version, other)
          proxy.plan('pass')
          const { error } = await runner.act(callAct('gateway.ping', {}))
          expect(error).toMatchObject({ kind: 'transport', reason: 'credential' })
          expect(error?.message).toContain(hint)
          expect(error?.text).toContain('3000')
          expect(proxy.seen.length).toBe(1)
          proxy.plan('pass')
          const created = await runner.act(createAct('payment.out', randomUUID()))
          expect(created.error?.kind).toBe('unknown')
          expect(created.error?.message).toContain(hint)
          // The create, and the look-up that could have shown it.
          expect(proxy.seen.length).toBe(2)
          await use('v1')
        },
      )

      test('refuses settings with a malformed secret or an unknown version, and a call of an unknown method', async () => {
        for (const [wrong, message] of [
          [{ secret: 'abc' }, 'the secret is not 64 lower-case hexadecimal characters'],
          [{ secret: 'A'.repeat(64) }, 'the secret is not 64'],
          [{ secret: `${'a'.repeat(64)}\n` }, 'the secret is not 64'],
          [{ version: 'v3' }, 'the version is not v1 or v2'],
        ] as const) {
          const { error } = await use('v1', wrong)
          expect(error?.kind).toBe('other')
          expect(error?.message).toContain(message)
        }
        await use('v1')
        proxy.plan('pass')
        const { error } = await runner.act(callAct('payment.list', {}))
        expect(error?.message).toContain('there is no method payment.list')
        expect(proxy.seen).toEqual([])
      })

      test('reads a balance beyond 2^53 exactly', async () => {
        const amounts =
          '[{"value":9223372036854775807,"value_freezing":0,"value_blocking":0,"currency":"INR","enabled":true}]'
        const result = `{"balance":{"id":1,"amounts":${amounts},"enabled":true}}`
        const body = `{"success":true,"result":${result},"request_id":"a","processing_time":0.5}`
        proxy.plan('pass')
        proxy.answer('balance.get', body, credentialOf('v1').secret)
        expect(await runner.act({ act: 'balance_text' })).toEqual({ result: '9223372036854775807' })
      })

      test('repeats a call whose answer is altered, lost or refused by a flood, and names a bad field', async () => {
        proxy.plan('alter', 'drop_after', 'unsigned_429', 'pass')
        expect((await runner.act(callAct('gateway.ping', {}))).result).toEqual({ message: 'pong' })
        expect(proxy.seen.length).toBe(4)
        proxy.plan('unsigned_3001')
        const { error } = await runner.act(callAct('gateway.ping', {}))
        expect(error).toMatchObject({ kind: 'transport', reason: 'credential' })
        expect(error?.text).toContain('no application id')
        proxy.plan('pass')
        const refused = await runner.act(callAct('ticket.get', { params: { identifiers: { c_id: '' } } }))
        expect(refused.error).toMatchObject({ kind: 'refusal', code: 9000, retry: 'never' })
        expect(refused.error?.message).toContain('params.identifiers.c_id')
      })

      test('uploads a file, opens a ticket with it, downloads it, and lists tickets by page', async () => {
        const c_id = randomUUID()
        const text = `a receipt of ${c_id}`
        const file = { purpose: 'ticket', name: 'receipt.txt', mime_type: 'text/plain', text }
        proxy.plan('drop_after', 'pass')
        const uploaded = await runner.act({ act: 'upload', file, operation_id: c_id })
        expect(uploaded.result).toMatchObject({ status: 'ready' })
        const { h_id } = uploaded.result
        const scanning = `{"success":true,"result":{"h_id":"${h_id}","status":"scanning"},"request_id":"a"}`
        proxy.answer('attachment.status', scanning, credentialOf('v1').secret)
        const waited = await runner.act({ act: 'upload', file, operation_id: c_id, scan_ms: 1 })
        expect(waited).toEqual({ result: { h_id, status: 'scanning' } })
        proxy.plan('pass')
        expect(await runner.act({ act: 'download', h_id })).toEqual({ result: text })
        const base = { title: 'A receipt', description: 'See the file.', category: 'question' }
        const ticketOf = (id: string, more: object = {}): object =>
          callAct('ticket.create', { params: { identifiers: { c_id: id }, ...base, ...more } })
        const ticket = await runner.act(ticketOf(c_id, { attachment_ids: [h_id] }))
        expect(ticket.result).toMatchObject({ identifiers: { c_id }, attachments: [{ name: 'receipt.txt' }] })
        for (const more of ['-2', '-3']) await runner.act(ticketOf(c_id + more))
        const listed = await runner.act({
          act: 'each',
          method: 'ticket.list',
          request: { params: { limit: 2 } },
        })
        const c_ids: readonly string[] = listed.result.map(
          (one: { identifiers: { c_id: string } }) => one.identifiers.c_id,
        )
        expect(c_ids.slice(0, 3)).toEqual([`${c_id}-3`, `${c_id}-2`, c_id])
        expect(new Set(c_ids).size).toBe(c_ids.length)
        // A comment gets an operation_id from the client.
        const comment = await runner.act(
          callAct('ticket.comment.create', { params: { ticket: { c_id }, body: 'Thank you.' } }),
        )
        expect(comment.result).toMatchObject({ author: 'merchant', body: 'Thank you.' })
      })

      test('makes a first deposit with the program of its page', async () => {
        const text = await readFile(join(ROOT, page), 'utf8')
        const [, code = ''] = /```(?:js|python|go|php)\n([\s\S]*?)```/.exec(text) ?? []
        const { command, folder: cwd, variables } = program(folder, code)
        const { application_id, secret } = credentialOf('v1')
        const [name, ...parameters] = command
        const values = {
          APPLICATION_ID: `${application_id}`,
          SECRET: secret,
          SERVICE_ID: `${alpha.route({})}`,
        }
        const env = { ...process.env, BASE_URL: system.demo().base_url, ...values, ...variables }
        const { stdout } = await promisify(execFile)(name, parameters, {
          cwd,
          env,
          timeout: HANG_LIMIT_MS,
        })
        // The line of a callback may begin before.
        expect(stdout).toMatch(/created [\w-]+: send the customer to \S+/m)
        expect(stdout).toMatch(/^verified [\w-]+:payment\.completed: success$/m)
      })

      test.each(middleware)('receives a callback with the middleware for %s', async (one) => {
        const { secret } = credentialOf('v1')
        const key = callbackSecret(secret)
        const { result: url } = await runner.act({
          act: 'serve',
          middleware: one,
          secrets: ['0'.repeat(64), key],
        })
        // PHP makes its middleware for each request.
        if (language.name !== 'PHP') {
          const without = await runner.act({ act: 'serve', middleware: one, secrets: [''] })
          expect(without.error?.message).toContain('a secret of the callbacks is missing')
        }
        const c_id = randomUUID()
        const { result } = await runner.act(createAct('payment.in', c_id, AMOUNT, url))
        const { h_id } = result.payment.identifiers
        const receivedBy = (count: number) =>
          eventually(
            () => runner.act({ act: 'received' }),
            (answer) =>
              answer?.result.filter((id: string) => id === `${h_id}:payment.completed`).length === count,
          )
        await receivedBy(1)
        const queued = await runner.act({ act: 'resend', payment_id: h_id, operation_id: c_id })
        expect(queued.result).toMatchObject({ status: 'queued' })
        expect(proxy.seen.at(-1)?.nonce).toBeDefined()
        await receivedBy(2)
        const deliver = async (secret: string, body: string, at = new Date()): Promise<number> => {
          const bytes = Buffer.from(body)
          const headers = signDelivery(bytes, new Secret(secret), 'a-delivery', at)
          return (await fetch(url, { method: 'POST', headers, body: bytes })).status
        }
        const body = '{"id":"one:webhook.test","data":{"result":{}}}'
        expect(await deliver(key, body)).toBe(204)
        expect(await deliver('1'.repeat(64), body)).toBe(401)
        expect(await deliver(key, body, new Date(Date.now() - 600_000))).toBe(401)
        expect(await deliver(key, 'not JSON')).toBe(400)
        expect(await deliver(key, '{"id":"fail:webhook.test"}')).toBe(500)
        if (features.includes('report'))
          expect((await runner.act({ act: 'reported' })).result).toContain('the store is away')
        expect(await deliver(key, body.padEnd(256 * 1024 + 1))).toBe(413)
        expect((await fetch(url, { method: 'POST', body })).status).toBe(401)
      })
    })
  })
