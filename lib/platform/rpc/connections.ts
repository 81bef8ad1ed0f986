import type { Transport } from '@connectrpc/connect'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import { channelCredentials } from './channel-credentials.ts'
import { createGrpcTransport, type GrpcTransport } from './grpc-transport.ts'
import type { Tls } from './tls.ts'

/** The connections of a process to others: one an address, opened when first used. */
export interface OutgoingConnections {
  to(address: string): Transport
  close(): void
}

/** So many other processes can be connected to; more means that addresses are being made up. */
const CONNECTIONS_MAX = 256

/** Makes the connections of a process, which proves itself with one token or certificate to all others. */
export function createOutgoingConnections(
  token: Secret | undefined,
  tls: Tls | undefined,
): OutgoingConnections {
  const credentials = channelCredentials(tls)
  const open = new Map<string, GrpcTransport>()
  return {
    to(address) {
      const existing = open.get(address)
      if (existing !== undefined) return existing
      if (open.size >= CONNECTIONS_MAX)
        throw new RangeError(`more than ${CONNECTIONS_MAX} processes to connect to`)
      const made = createGrpcTransport({ address, credentials, token })
      open.set(address, made)
      return made
    },
    close() {
      for (const connection of open.values()) connection.close()
      open.clear()
    },
  }
}
