import { Agent, request } from 'node:http'
import { afterEach, expect, test } from '@jest/globals'
import { sleep } from '#lib/base/time.ts'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { PATHS, signV1 } from '../support/sign-request.ts'
import { startOneProcess, type TestSystem } from '../support/system.ts'

const CLIENTS = 20
const DRAIN_MS = 5_000
const PING = JSON.stringify({ method: 'gateway.ping', params: {} })
/** The pause between two requests of one client, which keeps all of them within the default rate limits. */
const PAUSE_MS = 150
const LOOK_MS = 500
/** Failures after which the load balancer sends nothing more: the clients use two of the five seconds. */
const FAILURES_MAX = 3

/** What one client saw: a response, or the failure of the connection. */
interface Outcome {
  readonly sent_ms: number
  readonly status: number | string | undefined
  readonly connection: string | undefined
}

let system: TestSystem | undefined
afterEach(() => system?.end())

/**
 * A load balancer that looks at `/readyz`, and stops sending requests after `FAILURES_MAX` failures. Resolves then with
 * the time of the first failure.
 */
async function untilOutOfRotation(health_url: string): Promise<number> {
  const failures_ms: number[] = []
  while (failures_ms.length < FAILURES_MAX) {
    await sleep(LOOK_MS)
    const { status } = await fetch(`${health_url}/readyz`)
    if (status === 200) failures_ms.length = 0
    else failures_ms.push(performance.now())
  }
  return failures_ms[0] ?? 0
}

function ping(base_url: string, headers: Record<string, string>, agent: Agent): Promise<Outcome> {
  const sent_ms = performance.now()
  const { hostname, port } = new URL(base_url)
  const options = { hostname, port, path: PATHS.v1, method: 'POST', headers, agent }
  return new Promise((resolve) => {
    const sent = request(options, (response) => {
      response.resume()
      response.on('error', ({ message }) => resolve({ sent_ms, status: message, connection: undefined }))
      const { statusCode: status, headers } = response
      response.on('end', () => resolve({ sent_ms, status, connection: headers.connection }))
    })
    sent.on('error', ({ message }) => resolve({ sent_ms, status: message, connection: undefined }))
    sent.end(PING)
  })
}

// R5
test(`no request of ${CLIENTS} keep-alive clients fails while a process drains`, async () => {
  const started = await startOneProcess({ MULTIHUB_DRAIN: `${DRAIN_MS}ms`, MULTIHUB_LOG_LEVEL: 'error' })
  system = started
  const { base_url, health_url } = started.demo()
  let in_rotation = true
  let serving = 0
  const run = async (number: number): Promise<readonly Outcome[]> => {
    const { credential } = merchantClient(started.demo, number % 2 === 0 ? 'alpha' : 'beta')
    const headers = { 'Content-Type': 'application/json', ...signV1(credential, PING) }
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const outcomes: Outcome[] = []
    while (in_rotation) {
      outcomes.push(await ping(base_url, headers, agent))
      if (outcomes.length === 1) serving += 1
      await sleep(PAUSE_MS)
    }
    agent.destroy()
    return outcomes
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => run(number)))
  await eventually(
    async () => serving,
    (count) => count === CLIENTS,
  )
  const told_ms = performance.now()
  const ended = started.stop('all')
  const draining_ms = await untilOutOfRotation(health_url)
  const metrics = await (await fetch(`${health_url}/metrics`)).text()
  expect(metrics.match(/^multihub_ready\{role="gateway"\} .$/m)?.[0]).toBe('multihub_ready{role="gateway"} 0')
  in_rotation = false
  const outcomes = (await clients).flat()
  expect(await ended).toBe(0)
  const ended_ms = performance.now()

  expect(outcomes.filter(({ status }) => status !== 200)).toEqual([])
  const late = outcomes.filter(({ sent_ms }) => sent_ms > draining_ms)
  expect(late.length).toBeGreaterThan(0)
  expect(late.filter(({ connection }) => connection !== 'close')).toEqual([])
  expect(ended_ms - told_ms).toBeGreaterThan(DRAIN_MS)
  process.stderr.write(`drain: ${outcomes.length} requests, ${late.length} while it drained, 0 failed\n`)
})
