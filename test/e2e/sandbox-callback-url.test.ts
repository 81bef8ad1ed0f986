import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { merchantClient } from '../support/merchant.ts'
import { startHere } from '../support/system.ts'

// R2
test('the sandbox sends its callbacks to MULTIHUB_SANDBOX_CALLBACK_URL, not to the URL for other providers', async () => {
  const provider_port = await freePort()
  const unused_port = await freePort()
  const received: { readonly path: string; readonly status: number }[] = []
  const relay = createServer(async (request, response) => {
    const path = request.url ?? ''
    const forwarded = await fetch(`http://127.0.0.1:${provider_port}${path}`, {
      method: request.method ?? '',
      headers: headersOf(request),
      body: Buffer.concat(await request.toArray()),
    })
    received.push({ path, status: forwarded.status })
    response.writeHead(forwarded.status).end(await forwarded.text())
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const { port } = relay.address() as AddressInfo
  const system = await startHere({
    MULTIHUB_PROVIDER_PORT: `${provider_port}`,
    MULTIHUB_PROVIDER_URL: `http://127.0.0.1:${unused_port}`,
    MULTIHUB_SANDBOX_CALLBACK_URL: `http://127.0.0.1:${port}`,
  })
  try {
    const alpha = merchantClient(system.demo)
    const { c_id } = await alpha.deposit(10_000)
    await eventually(
      async () => received.length,
      (count) => (count ?? 0) > 0,
    )
    expect(received[0]).toEqual({ path: expect.stringMatching(/^\/.+/), status: 200 })
    expect(await alpha.finalPayment(c_id)).toMatchObject({ status: { status: 'success' } })
  } finally {
    await system.end()
    relay.closeAllConnections()
    relay.close()
  }
})

/** The headers of a callback, without the headers of the connection. */
function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const own = ['connection', 'host', 'content-length', 'transfer-encoding', 'keep-alive']
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !own.includes(name) ? [[name, value]] : [],
    ),
  )
}
