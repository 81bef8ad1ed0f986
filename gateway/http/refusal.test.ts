import { describe, expect, test } from '@jest/globals'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { RESEND_METHOD } from '#lib/contract/methods.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { createLimitRefusal, DAILY_BUCKET, FLOOD_BUCKET, retryHeaders } from './refusal.ts'

const refusal = (bucket: string, retry_after_ms = 12_345): PublicError =>
  createLimitRefusal({ bucket, limit: 10, window_ms: 60_000, retry_after_ms })

describe('the refusal of an exhausted quota', () => {
  test('is 429 and 1000 with the time to wait', () => {
    expect(refusal('payment.notification')).toMatchObject({
      http: 429,
      code: 1000,
      details: { bucket: 'payment.notification', limit: 10, window_seconds: 60, retry_after_seconds: 13 },
    })
  })

  test('is 3009 for the daily limit', () => {
    expect(
      createLimitRefusal({ bucket: DAILY_BUCKET, limit: 9, window_ms: 86_400_000, retry_after_ms: 1 }),
    ).toMatchObject({
      http: 429,
      code: 3009,
      details: { bucket: 'daily', limit: 9, window_seconds: 86_400, retry_after_seconds: 1 },
    })
  })

  test.each([
    [60_000, 60],
    [59_001, 60],
    [1_001, 2],
    [1_000, 1],
    [1, 1],
    [0, 1],
    [-5_000, 1],
  ])('reports %i ms as %i whole seconds', (retry_after_ms, seconds) => {
    expect(refusal('payment.in', retry_after_ms).details?.['retry_after_seconds']).toBe(seconds)
  })

  test('is counted by its bucket', async () => {
    refusal('ticket.reopen')
    expect(await metricsText()).toMatch(/multihub_limit_refusals_total\{bucket="ticket.reopen"\} 1/)
  })
})

describe('the headers of a refusal', () => {
  test.each([
    ['payment.notification', 'Retry-After-Payment-Notification'],
    ['ticket.description.update', 'Retry-After-Ticket-Description-Update'],
    [RESEND_METHOD, 'Retry-After-Webhook-Resend'],
  ])('of %s are Retry-After and %s', (bucket, name) => {
    expect(retryHeaders(refusal(bucket))).toEqual(['Retry-After', '13', name, '13'])
  })

  test.each([DAILY_BUCKET, FLOOD_BUCKET])('of %s, which is not a method, are Retry-After only', (bucket) => {
    expect(retryHeaders(refusal(bucket))).toEqual(['Retry-After', '13'])
  })

  test.each([new PublicError(1000), new PublicError(6010), new PublicError(1000, { http: 429 })])(
    'are none for another error',
    (error) => {
      expect(retryHeaders(error)).toEqual([])
    },
  )
})
