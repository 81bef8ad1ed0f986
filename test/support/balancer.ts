import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { every } from '#lib/base/time.ts'
import { eventually } from './eventually.ts'
import type { Place } from './fleet/place.ts'

/** One address for the copies of a role, as a Service of Kubernetes is. */
export interface Balancer {
  readonly url: string
  /** Resolves when all places are ready. */
  untilServed(): Promise<void>
  stop(): Promise<void>
}

const PROBE_MS = 100
const PROBE_LIMIT_MS = 2_000

/**
 * Starts a TCP load balancer. Each new connection goes to the next place whose `/readyz` says that it is ready, at the URL
 * of `urlOf`. Open connections stay where they are, and nothing is repeated: what a process loses is lost for the client.
 */
export async function startBalancer(
  placesOf: () => readonly Place[],
  urlOf: (place: Place) => string | undefined,
): Promise<Balancer> {
  let ready: readonly Place[] = []
  let turn = 0
  const open = new Set<Socket>()
  const keep = (socket: Socket): void => {
    open.add(socket)
    socket.setNoDelay(true)
    // An error is followed by 'close'.
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
  }
  const listener = createServer((client) => {
    keep(client)
    turn += 1
    const place = ready[turn % ready.length]
    const target = place && urlOf(place)
    if (target === undefined) return void client.destroy()
    const { hostname, port } = new URL(target)
    const server = connect(Number(port), hostname)
    keep(server)
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
    client.pipe(server)
    server.pipe(client)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const probe = async (): Promise<void> => {
    const places = placesOf()
    const states = await Promise.all(places.map(isReady))
    ready = places.filter((_, index) => states[index])
  }
  const timer = every(PROBE_MS, probe, () => {})
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    untilServed: () =>
      eventually(
        async () => ready.length === placesOf().length,
        (served) => served === true,
      ).then(() => {}),
    async stop() {
      timer.cancel()
      const closed = once(listener, 'close')
      listener.close()
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}

async function isReady(place: Place): Promise<boolean> {
  const { health_url } = place.urls()
  if (health_url === undefined) return false
  const signal = AbortSignal.timeout(PROBE_LIMIT_MS)
  return fetch(`${health_url}/readyz`, { signal }).then(
    async ({ ok, body }) => {
      await body?.cancel()
      return ok
    },
    () => false,
  )
}
