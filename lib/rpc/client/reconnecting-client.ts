import { type ChannelCredentials, type ChannelOptions, Client, connectivityState } from '@grpc/grpc-js'
import { clock, sleep } from '#lib/base/time.ts'

/** How long a call waits for a new connection when the old one is broken. A server that is up needs a few milliseconds. */
const CONNECT_MAX_MS = 250
/** The shortest time between two tries, which the calls in between share: it bounds what a server that is down costs. */
const TRY_EVERY_MS = 20

/**
 * Creates the client of an address that connects again at the first call after its server is back. grpc-js alone waits up to a
 * second between two tries, and calls meanwhile fail although the server is ready. So the first call on a broken channel opens
 * another one beside it, which takes its place once it is connected. Until then calls fail as soon as that one does.
 */
export function createReconnectingClient(
  address: string,
  credentials: ChannelCredentials,
  options: ChannelOptions,
) {
  // A pool of its own: a connection that is shared with the broken channel would wait as that one does.
  const open = (): Client =>
    new Client(address, credentials, { ...options, 'grpc.use_local_subchannel_pool': 1 })
  let client = open()
  let connecting: Promise<void> | undefined
  let tried_at_ms = Number.NEGATIVE_INFINITY
  let is_closed = false

  async function reconnect(): Promise<void> {
    const wait_ms = tried_at_ms + TRY_EVERY_MS - clock.monotonic_ms()
    if (wait_ms > 0) await sleep(wait_ms)
    tried_at_ms = clock.monotonic_ms()
    const next = open()
    if (!(await connects(next)) || is_closed) return next.close()
    client.close()
    client = next
  }

  return {
    /** The client for a call. While the connection is broken, it is the same one or a promise of a connected one. */
    current(): Client | Promise<Client> {
      if (is_closed || stateOf(client) !== connectivityState.TRANSIENT_FAILURE) return client
      connecting ??= reconnect().finally(() => {
        connecting = undefined
      })
      return connecting.then(() => client)
    },
    close(): void {
      is_closed = true
      client.close()
    },
  }
}

function stateOf(client: Client): connectivityState {
  return client.getChannel().getConnectivityState(true)
}

/** Whether a new client is connected within the time, before a try has failed. */
async function connects(client: Client): Promise<boolean> {
  const deadline_ms = clock.now_ms() + CONNECT_MAX_MS
  for (;;) {
    const state = stateOf(client)
    if (state === connectivityState.READY) return true
    if (state === connectivityState.TRANSIENT_FAILURE || state === connectivityState.SHUTDOWN) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    client.getChannel().watchConnectivityState(state, deadline_ms, (error) => resolve(error === undefined))
    if (!(await promise)) return false
  }
}
