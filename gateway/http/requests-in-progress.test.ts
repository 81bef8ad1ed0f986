import { expect, test } from '@jest/globals'
import { createLog } from '#lib/telemetry/log.ts'
import { eventually } from '../../test/support/eventually.ts'
import type { Exchange } from './exchange.ts'
import { createExchangeLog } from './exchange-log.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import { createResponder } from './response.ts'
import { createServer } from './server.ts'

test('answers 2002 beyond the limit of requests in progress, and serves again when one has ended', async () => {
  const log = createLog('gateway', { level: 'silent' })
  const exchange_log = createExchangeLog(log, undefined)
  const responder = createResponder(exchange_log)
  const waiting: (() => void)[] = []
  const serve = async (exchange: Exchange): Promise<void> => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    responder.sendSuccess(exchange, {})
  }
  const paths = [{ path: '/work', target: /^\/work$/, serve }]
  const app = createServer({ paths, responder, log, exchange_log, isServing: () => true })
  await app.ready()
  const request = async () => await app.inject({ method: 'POST', url: '/work' })
  const waitForWork = (count: number) =>
    eventually(
      async () => waiting.length,
      (length) => length === count,
    )

  const accepted = Array.from({ length: HTTP_LIMITS.requests_max }, request)
  await waitForWork(HTTP_LIMITS.requests_max)
  const refused = await request()
  expect(refused.json()).toMatchObject({ error: { code: 2002 } })
  expect(waiting).toHaveLength(HTTP_LIMITS.requests_max)

  for (const finish of waiting.splice(0)) finish()
  const statuses = new Set((await Promise.all(accepted)).map(({ statusCode }) => statusCode))
  expect([...statuses]).toEqual([200])
  const next = request()
  await waitForWork(1)
  waiting[0]?.()
  expect((await next).statusCode).toBe(200)
})
