import { describe, expect, test } from '@jest/globals'
import { withRequest } from '#lib/base/context.ts'
import { Secret } from '#lib/base/crypto/secret.ts'
import { installManualClock } from '../../test/support/manual-clock.ts'
import { maskText, reasonOf } from './faults.ts'
import { createLog, type LogFields, levelOf } from './log.ts'
import { metricsText } from './metrics.ts'

function recorded(write: (log: ReturnType<typeof createLog>) => void): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = []
  write(createLog('payments', { level: 'debug', writer: { write: (line) => lines.push(JSON.parse(line)) } }))
  return lines
}

/** The log as plain JavaScript, or a cast, would use it. */
const smuggled = (fields: Record<string, unknown>): LogFields => fields

/** A log with a clock that a test moves, and its lines. */
function limitedLog(is_limited = true) {
  const lines: Record<string, unknown>[] = []
  const writer = { write: (line: string): void => void lines.push(JSON.parse(line)) }
  const manual = installManualClock()
  const log = createLog('payments', { level: 'info', writer, is_limited })
  return { log, lines, manual, [Symbol.dispose]: () => manual[Symbol.dispose]() }
}

const failureOf = (text: string, code: string) =>
  new Error('no answer', { cause: Object.assign(new Error(text), { code }) })

/** A text that differs for each number, without a digit. */
const letters = (count: number) =>
  count.toString(26).replaceAll(/\d/g, (digit) => 'qrstuvwxyz'.charAt(Number(digit)))

describe('a cause that repeats', () => {
  test('has ten lines in a minute, and one with the number of those left out at its end', async () => {
    using limited = limitedLog()
    const { log, lines, manual } = limited
    for (let count = 0; count < 10_000; count += 1)
      log.warn(
        { payment_id: `p-${count}`, error: failureOf(`connect 10.0.0.${count}`, 'EREFUSED') },
        'it failed',
      )
    expect(lines).toHaveLength(10)
    await manual.advance(60_000)
    expect(lines).toHaveLength(11)
    expect(lines[10]).toMatchObject({
      level: 'warn',
      role: 'payments',
      dropped: 9_990,
      message: 'lines of this cause were left out: it failed',
      error: { cause: { code: 'EREFUSED' } },
    })
    expect(lines[10]).not.toHaveProperty('payment_id')
    log.warn({}, 'it failed')
    expect(lines).toHaveLength(12)
  })

  test('never hides the first line of another one', () => {
    using limited = limitedLog()
    const { log, lines } = limited
    const write = (): void => {
      log.warn({ error: failureOf('refused', 'EREFUSED') }, 'it failed')
      log.warn({ error: failureOf('refused', 'ETIMEDOUT') }, 'it failed')
      log.error({ error: failureOf('refused', 'EREFUSED') }, 'it failed')
      log.child('notifier').warn({ error: failureOf('refused', 'EREFUSED') }, 'it failed')
      log.warn({ provider_account: 'acme' }, 'it failed')
      log.warn({ reason: 'HTTP 502' }, 'it failed')
    }
    for (let count = 0; count < 20; count += 1) write()
    expect(lines).toHaveLength(60)
  })

  test('has the role that did not answer, in its lines and in the number of those left out', async () => {
    using limited = limitedLog()
    const lines: Record<string, unknown>[] = []
    const log = createLog(undefined, {
      level: 'info',
      writer: { write: (line) => lines.push(JSON.parse(line)) },
    })
    for (const role of [...new Array<string>(12).fill('payments'), 'balances'])
      log.warn({ role, error: failureOf('refused', 'EREFUSED') }, 'a role did not answer')
    expect(lines).toHaveLength(11)
    expect(lines.at(-1)).toMatchObject({ role: 'balances' })
    await limited.manual.advance(60_000)
    expect(lines.slice(11)).toMatchObject([{ role: 'payments', dropped: 2 }])
  })

  test('has a limit also when its errors always say something else, and hides no cause of another sentence', async () => {
    using limited = limitedLog()
    const { log, lines, manual } = limited
    for (let count = 0; count < 5_000; count += 1)
      log.warn({ error: failureOf(letters(count), 'E') }, 'it failed')
    expect(lines).toHaveLength(50 + 10)
    for (let count = 0; count < 20; count += 1)
      log.warn({ error: failureOf('one', 'E') }, 'something else failed')
    log.warn({ error: failureOf('two', 'E') }, 'something else failed')
    expect(lines).toHaveLength(60 + 11)
    await manual.advance(60_000)
    expect(lines.slice(71)).toMatchObject([{ dropped: 5_000 - 60 }, { dropped: 10 }])
  })

  test('has a limit also when its sentences are no constants', () => {
    using limited = limitedLog()
    for (let count = 0; count < 5_000; count += 1) limited.log.warn({}, `${letters(count)} failed`)
    expect(limited.lines).toHaveLength(500 + 10)
  })

  test('is written each time where each line counts, and informations are', () => {
    using all = limitedLog(false)
    for (let count = 0; count < 100; count += 1)
      all.log.error({ anomaly_id: `a-${count}` }, 'an anomaly waits')
    expect(all.lines).toHaveLength(100)
    using limited = limitedLog()
    for (let count = 0; count < 100; count += 1) limited.log.info({}, 'request answered')
    expect(limited.lines).toHaveLength(100)
  })

  test('is counted in the metric', async () => {
    using limited = limitedLog()
    const before = await metricValue('multihub_log_lines_left_out_total')
    for (let count = 0; count < 12; count += 1) limited.log.warn({}, 'it failed')
    expect((await metricValue('multihub_log_lines_left_out_total')) - before).toBe(2)
  })
})

describe('log', () => {
  test('writes one JSON line with level, time, role, fields and sentence', () => {
    const [line] = recorded((log) =>
      log.warn({ attempt: 2, due_at: new Date(0), count: 2n ** 62n }, 'it failed'),
    )
    expect(line).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      role: 'payments',
      attempt: 2,
      due_at: '1970-01-01T00:00:00.000Z',
      count: '4611686018427387904',
      message: 'it failed',
    })
  })

  test('carries the ids of the present request and of its trace only', () => {
    const trace = { trace_id: '0af7651916cd43dd8448eb211c80319c', span_id: 'b7ad6b7169203331', sampled: true }
    const lines = recorded((log) => {
      withRequest({ request_id: 'r-1' }, () => log.info({}, 'inside'))
      withRequest({ trace }, () => log.info({}, 'in the background'))
      log.info({}, 'outside')
    })
    expect(lines.map((line) => line['request_id'])).toEqual(['r-1', undefined, undefined])
    expect(lines.map((line) => line['trace_id'])).toEqual([undefined, trace.trace_id, undefined])
  })

  test('drops and counts fields outside the allow-list and values that are not plain', async () => {
    const before = await dropped()
    const [line] = recorded((log) =>
      log.info(
        smuggled({ body: 'hush', authorization: 'hush', status: { body: 'hush' }, reason: 'kept' }),
        'x',
      ),
    )
    expect(JSON.stringify(line)).not.toMatch(/hush/)
    expect(line?.['reason']).toBe('kept')
    expect((await dropped()) - before).toBe(3)
  })

  test('writes an error with its type, stack and causes, without its other properties', () => {
    const cause = Object.assign(new TypeError('deep'), { code: 'E_DEEP', command: { password: 'hush' } })
    const [line] = recorded((log) => log.error({ error: new Error('outer', { cause }) }, 'failed'))
    expect(line?.['error']).toMatchObject({
      type: 'Error',
      message: 'outer',
      stack: expect.stringContaining('log.test'),
      cause: { type: 'TypeError', message: 'deep', code: 'E_DEEP' },
    })
    expect(JSON.stringify(line)).not.toMatch(/hush/)
  })

  test('accepts circular causes and thrown values that are not errors', () => {
    const error = new Error('round')
    error.cause = error
    const lines = recorded((log) => {
      log.error({ error }, 'circle')
      for (const thrown of ['text', null, Object.create(null), Symbol('s'), 7n, { password: 'hush' }]) {
        log.error({ error: thrown }, 'thrown')
      }
      log.child('other').warn(smuggled({ kind: Object.create(null), reason: 'strange' }), 'strange field')
      log.warn({ error: Object.assign(new Error('x'), { code: Object.create(null) }) }, 'strange code')
    })
    expect(lines).toHaveLength(9)
    expect(JSON.stringify(lines)).not.toMatch(/hush/)
  })

  test.each([
    'mongodb://user:hush@host:27017/db',
    'mongodb+srv://user:hu@sh@host/hush@x',
    'failed: nats://hush@127.0.0.1:4222, then mongodb://u:hush/slash@h1,h2',
  ])('masks the credentials of a URL in every text: %s', (text) => {
    const [line] = recorded((log) =>
      log.error({ reason: text, error: new Error(text, { cause: new Error(text) }) }, text),
    )
    // Stack frames hold the path of the clone, which may well have "user" in it.
    const written = JSON.stringify(line).replaceAll(process.cwd(), '')
    expect(written).not.toMatch(/hush|user/)
  })

  test('masks before it truncates, so that a password is never separated from its @', () => {
    const text = `${'x'.repeat(1990)} mongodb://user:${'hush'.repeat(100)}@host`
    expect(maskText(text)).not.toMatch(/hush/)
    expect(maskText('x'.repeat(1_000_000)).length).toBeLessThan(2100)
  })

  test('a reason has the messages of an error and its causes, once each, in one line without passwords', () => {
    const cause = new Error('connect\n  mongodb://user:hush@host')
    expect(reasonOf(new Error('no answer', { cause: new Error('no answer', { cause }) }))).toBe(
      'no answer: connect mongodb://[secret]@host',
    )
    expect(reasonOf(new TypeError(''))).toBe('TypeError')
    expect(reasonOf('text')).toBe('text')
    expect(reasonOf(new Error('x'.repeat(1_000))).length).toBeLessThan(310)
  })

  test('hides secrets even under a permitted name', () => {
    const [line] = recorded((log) => log.info(smuggled({ status: new Secret('hush') }), 'x'))
    expect(JSON.stringify(line)).not.toMatch(/hush/)
  })

  test('a child log has its own role', () => {
    const [line] = recorded((log) => log.child('balances').info({}, 'x'))
    expect(line?.['role']).toBe('balances')
  })

  test('has the level that is set, and is not silenced by any other variable', () => {
    expect(levelOf({ NODE_ENV: 'test' })).toBe('info')
    expect(levelOf({ NODE_ENV: 'test', MULTIHUB_LOG_LEVEL: 'debug' })).toBe('debug')
    expect(levelOf({ MULTIHUB_LOG_LEVEL: ' silent ' })).toBe('silent')
    expect(levelOf({})).toBe('info')
    expect(levelOf({ MULTIHUB_LOG_LEVEL: 'loud' })).toBe('info')
  })
})

const dropped = (): Promise<number> => metricValue('multihub_log_fields_dropped_total')

async function metricValue(metric: string): Promise<number> {
  const line = (await metricsText()).split('\n').find((text) => text.startsWith(`${metric} `))
  return Number(line?.split(' ')[1] ?? 0)
}
