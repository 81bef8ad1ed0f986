import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { TlsMaterial } from '#lib/http/tls.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { type Certificates, makeAuthority } from '../test/support/certificates.ts'
import { type InstalledClock, installManualClock } from '../test/support/manual-clock.ts'
import { describeWith } from '../test/support/needs.ts'
import { createLifecycle } from './lifecycle.ts'
import { type ReadinessDeps, setStarting, watchReadiness } from './watch-readiness.ts'

const DAY_MS = 86_400_000
const works = async (): Promise<void> => {}
const fails = (error: Error) => async (): Promise<void> => {
  throw error
}

let manual: InstalledClock
beforeEach(() => {
  manual = installManualClock()
})
afterEach(() => manual[Symbol.dispose]())

/** A process with one role whose parts a test can replace while it runs. */
function processOf(given: Partial<ReadinessDeps> = {}) {
  const lifecycle = createLifecycle()
  const parts = {
    clock_guard: { assertTrusted: () => {} },
    stores: new Map([['payments', { ping: works }]]),
    running: new Map([['payments', {}]]),
    serving: { setServing: () => {}, setRoleServing: () => {} },
    tls: undefined,
    certificates: () => [],
    ...given,
  } as ReadinessDeps
  return { lifecycle, parts, state: () => lifecycle.readiness.state() }
}

test('names the reason of each part that is not ready, and forgets it when the part is ready again', async () => {
  const certificate = Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' })
  const store = { ping: fails(new Error('MongoDB does not answer', { cause: certificate })) }
  const { lifecycle, parts, state } = processOf({
    stores: new Map([['payments', store]]),
    clock_guard: {
      assertTrusted: () => {
        throw new Error('the clock is 7 s ahead')
      },
    },
  })
  setStarting(lifecycle.readiness, ['payments'])
  expect(state().unready_parts).toEqual(['payments (starting)'])
  await watchReadiness(lifecycle, parts)
  expect(state().unready_parts).toEqual([
    'payments (MongoDB does not answer: certificate has expired)',
    'clock (the clock is 7 s ahead)',
  ])
  store.ping = works
  await manual.advance(1_000)
  expect(state().unready_parts).toEqual(['clock (the clock is 7 s ahead)'])
})

test('a certificate of a connection that has expired is named, and the process stays ready', async () => {
  const subject = 'the certificate of the server nats:4222 of NATS_URL'
  const ends = [{ subject, end_ms: manual.now_ms() }]
  const { lifecycle, parts, state } = processOf({ certificates: () => [{ setting: 'NATS_URL', ends }] })
  await watchReadiness(lifecycle, parts)
  const limitation = expect.stringMatching(`^certificate: ${subject} expired at 20.*Z: renew it$`)
  expect(state()).toEqual({ ready: true, unready_parts: [], limitations: [limitation] })
})

describeWith('openssl')('the certificate of a process', () => {
  let authority: Certificates
  let material: TlsMaterial
  beforeEach(async () => {
    authority = await makeAuthority()
    const { key, certificate } = await authority.issue('payments.internal', { days: 30 })
    const [key_pem, certificate_pem, ca] = await Promise.all(
      [key, certificate, authority.ca].map((path) => readFile(path)),
    )
    material = { key: key_pem ?? Buffer.alloc(0), certificate: certificate_pem ?? Buffer.alloc(0), ca }
  })
  afterEach(() => authority.remove())

  /** The state at a time before the end of the certificate, which is valid for 30 days; the authority ends a year later. */
  async function stateAt(before_end_ms: number, role: object = {}) {
    const end_ms = new X509Certificate(material.certificate).validToDate.getTime()
    manual.stepWall(end_ms - before_end_ms - manual.now_ms())
    const { lifecycle, parts, state } = processOf({
      tls: { current: () => material },
      running: new Map([['payments', role]]),
    })
    await watchReadiness(lifecycle, parts)
    return state()
  }

  test('is named 14 days before its end, while the process is ready', async () => {
    expect(await stateAt(14 * DAY_MS + 1)).toEqual({ ready: true, unready_parts: [], limitations: [] })
    const { ready, limitations } = await stateAt(14 * DAY_MS)
    expect(ready).toBe(true)
    expect(limitations).toEqual([
      expect.stringMatching(
        /^certificate: the certificate of MULTIHUB_TLS_CERTIFICATE ends at 20.*Z: renew it$/,
      ),
    ])
  })

  test('has its time left as a metric, negative after its end, and the authority has its own', async () => {
    const left = async (setting: string) =>
      Number(
        new RegExp(`certificate_remaining_seconds\\{setting="${setting}"\\} (\\S+)`).exec(
          await metricsText(),
        )?.[1],
      )
    await stateAt(20 * DAY_MS)
    expect(await left('MULTIHUB_TLS_CERTIFICATE')).toBe(20 * 86_400)
    expect(await left('MULTIHUB_TLS_CA')).toBeGreaterThan(20 * 86_400)
    await stateAt(-5_000)
    expect(await left('MULTIHUB_TLS_CERTIFICATE')).toBe(-5)
  })

  test('makes the process unready when it has expired, until it is replaced', async () => {
    expect(await stateAt(0)).toMatchObject({
      ready: false,
      unready_parts: [
        expect.stringMatching(
          /^certificate \(the certificate of MULTIHUB_TLS_CERTIFICATE expired at 20.*Z: renew it\)$/,
        ),
      ],
    })
  })

  test('is a limitation of a process that must answer whatever its surroundings are', async () => {
    const { ready, limitations } = await stateAt(0, { answers_without_store: true })
    expect([ready, limitations]).toEqual([true, [expect.stringContaining('expired at')]])
  })
})
