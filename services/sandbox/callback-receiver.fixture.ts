import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Connector, ProviderReport } from '../payments/connectors/connector.ts'

/** Receives callbacks as the payments service does. */
export interface CallbackReceiver {
  readonly url: string
  /** Every report with a valid signature, acknowledged or not, in the order of arrival. */
  readonly reports: ProviderReport[]
  /** The number of requests without a valid signature. */
  rejected(): number
  /** Resolves when `count` reports of a key have arrived. */
  received(idempotency_key: string, count: number): Promise<ProviderReport[]>
  /** Resolves when a report of a key has got HTTP 2xx. */
  acknowledged(idempotency_key: string): Promise<void>
  /** Sets the HTTP status of further responses. */
  respondWith(http_status: number): void
  close(): Promise<void>
}

/** Starts a receiver that verifies each callback with the connector, as payments does. */
export async function startReceiver(connector: Connector): Promise<CallbackReceiver> {
  const reports: ProviderReport[] = []
  const acknowledged_keys = new Set<string>()
  const waiting: (() => void)[] = []
  let http_status = 204
  let rejected = 0
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
    const { method = '', url: path = '', headers } = request
    const report = connector.parseCallback({ method, path, headers, body: Buffer.concat(parts) })
    if (report === undefined) rejected += 1
    else reports.push(report)
    if (report !== undefined && http_status < 300) acknowledged_keys.add(report.idempotency_key)
    response.writeHead(report === undefined ? 401 : http_status).end()
    for (const wake of waiting.splice(0)) wake()
  })
  const next = (): Promise<void> => new Promise((resolve) => void waiting.push(resolve))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks/sandbox?payment=1`,
    reports,
    rejected: () => rejected,
    async received(idempotency_key, count) {
      for (;;) {
        const matching = reports.filter((report) => report.idempotency_key === idempotency_key)
        if (matching.length >= count) return matching
        await next()
      }
    },
    async acknowledged(idempotency_key) {
      while (!acknowledged_keys.has(idempotency_key)) await next()
    },
    respondWith(status) {
      http_status = status
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
