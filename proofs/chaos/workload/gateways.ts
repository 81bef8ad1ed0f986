import { Agent, request } from 'node:http'
import { every } from '#lib/base/time.ts'
import type { Place } from '../../../test/support/fleet/place.ts'
import type { WireRequest, WireResponse } from '../../simulation/parts/http/serve-in-memory.ts'

/** A load balancer in front of the gateways, which sends requests to those that are ready. */
export interface Gateways {
  /** Sends a request. Throws an error with the message `ECONNREFUSED` when it was not sent. */
  request(origin: string, request: WireRequest, timeout_ms: number): Promise<WireResponse>
  stop(): void
}

const PROBE_INTERVAL_MS = 500
const PROBE_LIMIT_MS = 1_000

/** Probes the readiness of the gateways all the time, as a load balancer does. */
export function createGateways(places: readonly Place[]): Gateways {
  const agent = new Agent({ keepAlive: true })
  const ready = new Set<Place>(places)
  let turn = 0
  const probe = async (place: Place): Promise<void> => {
    const is_ready = await fetch(`${place.urls()['health_url']}/readyz`, {
      signal: AbortSignal.timeout(PROBE_LIMIT_MS),
    }).then(
      ({ ok }) => ok,
      () => false,
    )
    if (is_ready) ready.add(place)
    else ready.delete(place)
  }
  const timer = every(
    PROBE_INTERVAL_MS,
    async () => void (await Promise.all(places.map(probe))),
    () => {},
  )
  return {
    async request(_origin, wire_request, timeout_ms) {
      // When no probe succeeds the machine may just be slow, so every gateway gets requests then.
      const candidates = ready.size > 0 ? [...ready] : places
      for (let tries = 0; tries < candidates.length; tries += 1) {
        turn += 1
        const place = candidates[turn % candidates.length] as Place
        try {
          return await send(place.urls()['base_url'] ?? '', wire_request, agent, timeout_ms)
        } catch (error) {
          if (!isRefused(error)) throw error
        }
      }
      throw new Error('ECONNREFUSED')
    },
    stop() {
      timer.cancel()
      agent.destroy()
    },
  }
}

function send(
  base_url: string,
  { method, path, headers, body }: WireRequest,
  agent: Agent,
  timeout_ms: number,
): Promise<WireResponse> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base_url)
    const signal = AbortSignal.timeout(timeout_ms)
    const options = { hostname, port, path, method, agent, signal }
    const sent = request(
      { ...options, headers: { ...headers, 'Content-Length': body.length } },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Record<string, string>,
            body: Buffer.concat(chunks),
          }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'
}
