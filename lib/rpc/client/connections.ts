import type { Transport } from '@connectrpc/connect'
import { LRUCache } from 'lru-cache'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { Tls } from '#lib/http/tls.ts'
import { channelCredentials } from '../credentials/channel-credentials.ts'
import { createGrpcTransport, type GrpcTransport } from './grpc-transport.ts'

/** The connections of a process to other processes: one per address, opened at the first call. */
export interface OutgoingConnections {
  /**
   * A transport to the address. Each call uses the connection that the address has then, so a transport can be kept: it
   * also works after a connection was closed.
   */
  to(address: string): Transport
  /** Closes all connections. Later calls fail with 2002. */
  close(): void
}

/**
 * The largest number of addresses with a connection. Each release gives the processes of a role other addresses, so those
 * of processes that are gone must not stay. Beyond this number the connection that was unused for the longest time is
 * closed; its calls in progress end.
 */
const CONNECTIONS_MAX = 256

/** Creates the connections of a process, which uses the same token or certificate for all of them. */
export function createOutgoingConnections(
  token: Secret | undefined,
  tls: Tls | undefined,
): OutgoingConnections {
  const credentials = channelCredentials(tls)
  const open = new LRUCache<string, GrpcTransport>({
    max: CONNECTIONS_MAX,
    dispose: (connection) => connection.close(),
  })
  let is_closed = false
  const connectionTo = (address: string): GrpcTransport => {
    if (is_closed) throw new PublicError(2002)
    const existing = open.get(address)
    if (existing !== undefined) return existing
    const made = createGrpcTransport({ address, credentials, token })
    open.set(address, made)
    return made
  }
  return {
    to: (address) => ({
      unary: (...call) => connectionTo(address).unary(...call),
      stream: (...call) => connectionTo(address).stream(...call),
    }),
    close() {
      is_closed = true
      open.clear()
    },
  }
}
