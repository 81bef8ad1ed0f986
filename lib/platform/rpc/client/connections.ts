import type { Transport } from '@connectrpc/connect'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import { channelCredentials } from '#lib/platform/rpc/credentials/channel-credentials.ts'
import type { Tls } from '#lib/platform/rpc/credentials/tls.ts'
import { createGrpcTransport, type GrpcTransport } from './grpc-transport.ts'

/** The connections of a process to other processes: one per address, opened at the first use. */
export interface OutgoingConnections {
  to(address: string): Transport
  close(): void
}

/** The largest number of addresses. More of them would mean a fault in how addresses are built. */
const CONNECTIONS_MAX = 256

/** Creates the connections of a process, which uses the same token or certificate for all of them. */
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
        throw new RangeError(`more than ${CONNECTIONS_MAX} addresses of other processes`)
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
