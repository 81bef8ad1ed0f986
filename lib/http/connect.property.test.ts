import { createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { HANG_LIMIT_MS } from '../../test/support/hang-limit.ts'
import { createHttpClient } from './client.ts'
import { HttpFailure } from './http-failure.ts'
import { type Listening, listen } from './network.ts'
import type { HostAddress } from './resolve-host.ts'

/** The addresses to which connections were really made, as the server sees them, and whether a byte arrived there. */
const connected: { readonly address: string; received: boolean }[] = []
let server: Server
let listening: Listening
beforeAll(async () => {
  server = createServer((socket) => {
    const seen = { address: socket.localAddress ?? '', received: false }
    connected.push(seen)
    socket.on('error', () => {})
    socket.on('data', () => {
      seen.received = true
      socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n')
    })
  })
  // All of 127.0.0.0/8 leads here, so that a connection to a refused address would be seen.
  listening = await listen(server, { host: '0.0.0.0', port: 0, variable: 'T_PORT' })
})
afterAll(() => listening.close(0))

const PERMITTED = ['127.0.0.1', '127.0.0.2', '127.0.0.3']
const REFUSED = ['127.0.0.4', '127.1.0.1', '127.255.255.254']
const permits = (address: string): boolean => PERMITTED.includes(address)

const addressOf = (...addresses: string[]) =>
  fc.constantFrom(...addresses).map((address): HostAddress => ({ address, family: 4 }))

/** What the name servers return for one name, query after query. Some of it is an attempt to reach a refused address. */
const answers = fc.array(
  fc.oneof(
    fc.array(addressOf(...PERMITTED), { maxLength: 4 }),
    fc.array(addressOf(...PERMITTED, ...REFUSED), { maxLength: 4 }),
  ),
  { minLength: 1, maxLength: 5 },
)

/** The hosts of the URLs: a name, and addresses that never reach the lookup. */
const hosts = fc.constantFrom('rebinds.example', ...PERMITTED, ...REFUSED, '2130706433', '0x7f.1')

async function outcomeOf(work: Promise<{ readonly status: number }>): Promise<string> {
  try {
    return String((await work).status)
  } catch (error) {
    return error instanceof HttpFailure ? `${error.kind} ${error.reason}` : String(error)
  }
}

// N9
describe('whatever name servers answer', () => {
  test('connections are made to permitted addresses only, and to none when one of them is refused', async () => {
    await fc.assert(
      fc.asyncProperty(answers, hosts, async (queries, host) => {
        let query = 0
        const client = createHttpClient({
          allow: permits,
          keep_alive_ms: 0,
          resolve: async () => {
            query += 1
            return queries[query - 1] ?? []
          },
        })
        try {
          for (const answer of queries) {
            connected.length = 0
            const url = `http://${host}:${listening.port}/`
            const result = await outcomeOf(client.request({ method: 'POST', url, timeout_ms: HANG_LIMIT_MS }))
            const resolved =
              host === 'rebinds.example' ? answer.map(({ address }) => address) : [new URL(url).hostname]
            if (resolved.length > 0 && resolved.every(permits)) expect(result).toBe('204')
            else {
              expect(result).toBe('not_sent refused_address')
              expect(connected).toEqual([])
            }
            expect(connected.filter(({ address }) => !resolved.includes(address))).toEqual([])
          }
        } finally {
          await client.close()
        }
      }),
      { numRuns: 150 },
    )
  })

  test('nothing is sent when the connected address is no longer permitted', async () => {
    let checks = 0
    const client = createHttpClient({
      allow: () => {
        checks += 1
        return checks === 1
      },
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    })
    connected.length = 0
    const url = `http://rebinds.example:${listening.port}/`
    const request = client.request({ method: 'POST', url, timeout_ms: HANG_LIMIT_MS })
    expect(await outcomeOf(request)).toBe('not_sent refused_address')
    await client.close()
    expect(connected.some(({ received }) => received)).toBe(false)
    expect(checks).toBe(2)
  })
})
