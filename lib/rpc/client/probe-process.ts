import { Client, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import type { Secret } from '#lib/base/crypto/secret.ts'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Tls } from '#lib/http/tls.ts'
import { channelCredentials } from '../credentials.ts'

interface ProcessProbe {
  /** Whether it reports itself as ready (gRPC health). */
  readonly is_serving: boolean
  /** The names of its services; `undefined` when it does not accept the credentials. */
  readonly services: readonly string[] | undefined
}

interface ProbeOptions {
  readonly address: string
  readonly token: Secret | undefined
  readonly tls: Tls | undefined
  readonly limit_ms: number
}

/** A health request for the whole process is empty; the second byte of the response is the status. */
const HEALTH = { path: '/grpc.health.v1.Health/Check', request: Buffer.alloc(0) }
const SERVING = 1
/** Reflection is for known callers only, so it shows whether the credentials are accepted. The request lists services. */
const REFLECTION = {
  path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  request: Buffer.from([0x3a, 0]),
}
const SERVICE_NAME = /multihub\.[A-Za-z0-9.]+/g

/**
 * Asks a process for its health and its services, with the credentials that the RPCs of this process have. It runs no RPC of
 * a role. Throws `Unavailable` when there is no gRPC response.
 */
export async function probeProcess({ address, token, tls, limit_ms }: ProbeOptions): Promise<ProcessProbe> {
  const client = new Client(address, channelCredentials(tls), { 'grpc.enable_http_proxy': 0 })
  const metadata = new Metadata()
  if (token !== undefined) metadata.set('authorization', `Bearer ${token.reveal()}`)
  const deadline = clock.now_ms() + limit_ms
  try {
    const health = await send(client, HEALTH, metadata, deadline)
    if (health === undefined) throw new Unavailable('its health cannot be read')
    const reflection = await send(client, REFLECTION, metadata, deadline)
    const services = reflection?.toString('latin1').match(SERVICE_NAME) ?? []
    return { is_serving: health.at(1) === SERVING, services: reflection && services }
  } finally {
    client.close()
  }
}

/** The bytes of the response; `undefined` when the caller is not known. */
function send(
  client: Client,
  { path, request }: { readonly path: string; readonly request: Buffer },
  metadata: Metadata,
  deadline: number,
): Promise<Buffer | undefined> {
  const same = (bytes: Buffer): Buffer => bytes
  return new Promise((resolve, reject) => {
    const answered = (error: ServiceError | null, bytes?: Buffer): void => {
      if (error === null) resolve(bytes)
      else if (error.code === status.UNAUTHENTICATED) resolve(undefined)
      else reject(new Unavailable(error.details, { cause: error }))
    }
    client.makeUnaryRequest(path, same, same, request, metadata, { deadline }, answered)
  })
}
