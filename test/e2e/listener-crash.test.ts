import { randomUUID } from 'node:crypto'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { CallbackService } from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import { eventually } from '../support/eventually.ts'
import { merchantClient } from '../support/merchant.ts'
import { type OneProcessSystem, startOneProcess } from '../support/system.ts'

const LIMIT_MS = 300_000
const DEPOSITS = 24

let system: OneProcessSystem
beforeAll(async () => {
  system = await startOneProcess()
})
afterAll(() => system?.end())

/** A client that breaks off after each few messages, and goes on from its cursor. */
function startListener(merchant_id: string) {
  const seen = new Map<string, Set<string>>()
  let cursor = ''
  return {
    seen,
    /** Reads until the stream breaks or four messages have come. */
    async read(): Promise<void> {
      const { backoffice_url, operator } = system.demo()
      const controller = new AbortController()
      const transport = createConnectTransport({ baseUrl: backoffice_url, httpVersion: '1.1' })
      const headers = { authorization: `Bearer ${operator.token}` }
      const request = { merchantId: merchant_id, sinceCursor: cursor }
      const { signal } = controller
      const stream = createClient(CallbackService, transport).listenToCallbacks(request, { signal, headers })
      let messages = 0
      try {
        for await (const message of stream) {
          for (const { body, event } of message.deliveries) {
            const { c_id } = JSON.parse(Buffer.from(body ?? []).toString()).data.result.payment.identifiers
            const events = seen.get(c_id) ?? new Set()
            seen.set(c_id, events.add(event))
          }
          cursor = message.cursor
          messages += 1
          if (messages === 4) return
        }
      } catch {
        // The server was killed: the next stream begins with the cursor.
      } finally {
        controller.abort()
      }
    },
    hasBegun: () => cursor !== '',
  }
}

// O20
test(
  'a stream from its cursor misses no callback when the server is killed three times and the client breaks off',
  async () => {
    const alpha = merchantClient(system.demo)
    const listener = startListener(alpha.merchant.merchant_id)
    let is_over = false
    const listening = eventually(listener.read, () => is_over, LIMIT_MS)
    await eventually(async () => listener.hasBegun(), Boolean)
    const accepted: string[] = []
    for (let index = 1; index <= DEPOSITS; index += 1) {
      const { c_id, body } = await alpha
        .deposit(index * 100_000, { c_id: randomUUID() })
        .catch(() => ({ c_id: '', body: undefined }))
      if (body?.success === true) accepted.push(c_id)
      if (index % 7 !== 0) continue
      await system.kill()
      await system.start()
    }
    expect(accepted.length).toBeGreaterThan(DEPOSITS / 2)
    const expected = accepted.map((c_id) => [c_id, true])
    const received = () =>
      accepted.map((c_id) => {
        const events = listener.seen.get(c_id) ?? new Set()
        return [c_id, events.has('payment.created') && events.has('payment.completed')]
      })
    await eventually(
      async () => received(),
      (found = []) => found.every(([, is_there]) => is_there),
      LIMIT_MS,
    )
    is_over = true
    await system.kill()
    await listening
    expect(received()).toEqual(expected)
  },
  LIMIT_MS * 2,
)
