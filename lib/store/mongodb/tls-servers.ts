import { readFile } from 'node:fs/promises'
import { MongoClient } from 'mongodb'
import type { Secret } from '#lib/base/crypto/secret.ts'

/** The servers that a URI names, and the authority that it trusts for them; without it those of Node.js. */
export interface TlsServers {
  readonly servers: readonly { readonly host: string; readonly port: number }[]
  /** Of `mongodb+srv`: the DNS name whose SRV records name the servers. */
  readonly srv_name?: string
  readonly ca?: Buffer
}

/**
 * The servers of a URI that uses TLS; none for one without TLS and for one that cannot be parsed, which fails elsewhere.
 * Connects to nothing.
 */
export async function readTlsServers(uri: Secret): Promise<TlsServers> {
  const options = parse(uri)
  if (!options?.tls) return { servers: [] }
  const { srvHost, srvServiceName, tlsCAFile } = options
  const ca = tlsCAFile === undefined ? undefined : await readFile(tlsCAFile)
  const trust = ca && { ca }
  if (srvHost !== undefined) return { servers: [], srv_name: `_${srvServiceName}._tcp.${srvHost}`, ...trust }
  const servers = options.hosts.flatMap(({ host, port }) =>
    host === undefined || port === undefined ? [] : [{ host, port }],
  )
  return { servers, ...trust }
}

function parse(uri: Secret): MongoClient['options'] | undefined {
  try {
    return new MongoClient(uri.reveal()).options
  } catch {
    return undefined
  }
}
