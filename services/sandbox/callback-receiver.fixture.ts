import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Connector, ProviderReport } from '../payments/connectors/connector.ts'
import type { ProviderAccount } from '../payments/connectors/provider-account.ts'

/** Where the tests receive callbacks, as the payments service would. */
export interface Receiver {
  readonly url: string
  /** Every proved report, in the order of arrival, whether acknowledged or not. */
  readonly reports: ProviderReport[]
  /** How many requests could not be proved. */
  unproved(): number
  /** Resolves when so many reports about a key have come. */
  received(idempotency_key: string, count: number): Promise<ProviderReport[]>
  /** Resolves when a report about a key has been answered with HTTP 2xx. */
  acknowledged(idempotency_key: string): Promise<void>
  /** What is answered from now on. */
  answerWith(http_status: number): void
  close(): Promise<void>
}

/** Starts a receiver that proves each callback with the connector, as payments does. */
export async function startReceiver(connector: Connector, account: ProviderAccount): Promise<Receiver> {
  const reports: ProviderReport[] = []
  const taken = new Set<string>()
  const waiting: (() => void)[] = []
  let http_status = 204
  let unproved = 0
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
    const { method = '', url: path = '', headers } = request
    const report = connector.verifyCallback(account, { method, path, headers, body: Buffer.concat(parts) })
    if (report === undefined) unproved += 1
    else reports.push(report)
    if (report !== undefined && http_status < 300) taken.add(report.idempotency_key)
    response.writeHead(report === undefined ? 401 : http_status).end()
    for (const wake of waiting.splice(0)) wake()
  })
  const next = (): Promise<void> => new Promise((resolve) => void waiting.push(resolve))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks/sandbox?payment=1`,
    reports,
    unproved: () => unproved,
    async received(idempotency_key, count) {
      for (;;) {
        const found = reports.filter((report) => report.idempotency_key === idempotency_key)
        if (found.length >= count) return found
        await next()
      }
    },
    async acknowledged(idempotency_key) {
      while (!taken.has(idempotency_key)) await next()
    },
    answerWith(status) {
      http_status = status
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
