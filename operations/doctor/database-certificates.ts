import { Resolver } from 'node:dns/promises'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { StartError } from '#lib/base/start-error.ts'
import {
  type EnvironmentCheck,
  inspectCertificate,
  type ServerAddress,
  unreachable,
  withExpiry,
} from '#lib/role/environment-check.ts'

/** The SRV records of a DNS name. */
export type ResolveSrv = (
  name: string,
) => Promise<readonly { readonly name: string; readonly port: number }[]>

const LIMIT_MS = 5_000
const ADVICE = 'correct MONGODB_URI'

/**
 * The check of the certificate of each MongoDB server that a URI with TLS names: expired ones are reported with their reason,
 * and those that expire soon are a warning. The servers of `mongodb+srv` share one check, because DNS names them.
 */
export async function databaseCertificateChecks(
  mongodb_uri: Secret | undefined,
  resolveSrv: ResolveSrv = resolveByNameServers,
): Promise<readonly EnvironmentCheck[]> {
  if (mongodb_uri === undefined) return []
  const { readTlsServers } = await import('#lib/store/mongodb/connect.ts')
  const { servers, srv_name, ca } = await readTlsServers(mongodb_uri)
  const of_servers = servers.map((server) => ({
    subject: `certificate of MongoDB at ${server.host}:${server.port}`,
    run: async () => withExpiry('trusted', 'its', await inspect(server, ca)),
  }))
  if (srv_name === undefined) return of_servers
  const run = async () => {
    const found = await findServers(srv_name, resolveSrv)
    const ends = await Promise.all(found.map((server) => inspectNamed(server, ca)))
    const first_end = new Date(Math.min(...ends.map((end) => end.getTime())))
    return withExpiry(`all ${found.length} trusted`, 'the first', first_end)
  }
  return [{ subject: `certificates of MongoDB by ${srv_name}`, run }]
}

function inspect(server: ServerAddress, ca: Buffer | undefined): Promise<Date> {
  const authority = 'tlsCAFile of MONGODB_URI, or in NODE_EXTRA_CA_CERTS'
  return inspectCertificate(server, { material: { ca }, limit_ms: LIMIT_MS, advice: ADVICE, authority })
}

/** As `inspect`; an error names the server. */
async function inspectNamed(server: ServerAddress, ca: Buffer | undefined): Promise<Date> {
  try {
    return await inspect(server, ca)
  } catch (error) {
    throw new StartError(`${server.host}:${server.port}: ${error instanceof Error ? error.message : error}`)
  }
}

async function findServers(srv_name: string, resolveSrv: ResolveSrv): Promise<readonly ServerAddress[]> {
  try {
    const records = await resolveSrv(srv_name)
    return records.map(({ name, port }) => ({ host: name, port }))
  } catch (error) {
    throw unreachable(srv_name, error, ADVICE)
  }
}

function resolveByNameServers(name: string): ReturnType<ResolveSrv> {
  return new Resolver({ timeout: LIMIT_MS, tries: 1 }).resolveSrv(name)
}
