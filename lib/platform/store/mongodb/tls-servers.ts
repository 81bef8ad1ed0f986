import { readFile } from 'node:fs/promises'
import { MongoClient } from 'mongodb'
import type { Secret } from '#lib/platform/crypto/secret.ts'
import type { ServerAddress } from '#lib/platform/process/reach.ts'

/** The servers that a URI names, and the authority that it trusts for them; without it those of Node.js. */
export interface TlsServers {
  readonly servers: readonly ServerAddress[]
  readonly ca?: Buffer
}

/**
 * The servers of a URI that uses TLS; none for one without TLS, for one that cannot be parsed, which fails elsewhere, and
 * for `mongodb+srv`, whose servers only DNS names. Connects to nothing.
 */
export async function readTlsServers(uri: Secret): Promise<TlsServers> {
  const options = parse(uri)
  if (options === undefined || options.srvHost !== undefined || !options.tls) return { servers: [] }
  const servers = options.hosts.flatMap(({ host, port }) =>
    host === undefined || port === undefined ? [] : [{ host, port }],
  )
  if (options.tlsCAFile === undefined) return { servers }
  return { servers, ca: await readFile(options.tlsCAFile) }
}

function parse(uri: Secret): MongoClient['options'] | undefined {
  try {
    return new MongoClient(uri.reveal()).options
  } catch {
    return undefined
  }
}
