import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { errorFromJsonBytes } from '@connectrpc/connect/protocol-connect'
import { createUnaryTransport } from '#lib/rpc/client/unary-transport.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { HttpNetwork } from '../parts/http/http-network.ts'

/** Clients of the back office at an origin, with a token: they speak the Connect protocol in binary, over HTTP. */
export function createDoorClients(
  network: Pick<HttpNetwork, 'request'>,
  origin: string,
  token: string,
): ClientOf {
  const transport = createUnaryTransport(async ({ method, request, timeout_ms }) => {
    // Without a header for the time-out: Connect would measure it on the clock of the machine.
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/proto' }
    const path = `/${method.parent.typeName}/${method.name}`
    const call = { method: 'POST', path, headers, body: request }
    const response = await network.request(origin, call, timeout_ms).catch((cause: unknown) => {
      throw new ConnectError('no response', Code.Unavailable, undefined, undefined, cause)
    })
    if (response.status === 200) return response.body
    const unknown = new ConnectError(`status ${response.status}`, Code.Unknown)
    throw errorFromJsonBytes(response.body, undefined, unknown)
  })
  return (service) => createClient(service, transport)
}
