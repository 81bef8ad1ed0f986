import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { StreamHandler } from '#lib/http/stream-exchange.ts'
import type { RequestEvents } from './http-network.ts'
import type { WireRequest, WireResponse } from './serve-in-memory.ts'

/** Sends one request. */
export type SendRequest = (request: WireRequest, events: RequestEvents) => void

/** Sends streams as whole requests. A body that breaks off at its sender breaks off at the other side too. */
export function streamOver(send: SendRequest): StreamHandler {
  return async ({ method, path, headers = {}, body, signal }) => {
    const wire = { method, path, headers, ...(await collect(body)) }
    const { promise, resolve, reject } = Promise.withResolvers<WireResponse>()
    signal.addEventListener('abort', () => reject(new Error('the exchange was ended')))
    send(wire, { onSent: () => {}, onResponse: resolve, onFailure: reject })
    try {
      const response = await promise
      return { ...response, body: only(response.body) }
    } catch (cause) {
      throw new Unavailable('the other process gave no response to a stream', { cause })
    }
  }
}

/** The bytes of a body, as far as they come. */
async function collect(
  body: AsyncIterable<Uint8Array> | undefined,
): Promise<Pick<WireRequest, 'body' | 'is_cut'>> {
  const chunks: Uint8Array[] = []
  let is_cut = false
  try {
    for await (const chunk of body ?? []) chunks.push(chunk)
  } catch {
    is_cut = true
  }
  return { body: Buffer.concat(chunks), is_cut }
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
