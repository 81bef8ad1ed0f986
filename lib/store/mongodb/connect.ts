import { type Db, MongoClient, MongoServerError, ReadConcern } from 'mongodb'
import { Secret } from '#lib/base/crypto/secret.ts'
import { clock, every } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { log } from '#lib/telemetry/log.ts'
import { type StartWait, waitForServer } from '#lib/telemetry/wait-for-server.ts'
import type { MongodbDatabase } from '../maintenance.ts'
import { createMongoCalls, selectionTimeout } from './calls.ts'

/**
 * Connects a client again when the driver's check of a server does not end within a time. Driver 7.9 waits permanently when
 * it checks a server through a connection that has just been lost, before that connection reports it: it awaits that a
 * destroyed socket can be written to. From then on it never finds that server again once it has lost it.
 */
export function watchMonitoring(client: MongoClient, limit_ms: number) {
  /** By the address of the server: when the check began that has not ended yet. */
  const began_ms = new Map<string, number>()
  const forget = (address: string): void => void began_ms.delete(address)
  client.on('serverHeartbeatStarted', ({ connectionId }) => began_ms.set(connectionId, clock.monotonic_ms()))
  client.on('serverHeartbeatSucceeded', ({ connectionId }) => forget(connectionId))
  client.on('serverHeartbeatFailed', ({ connectionId }) => forget(connectionId))
  client.on('serverClosed', ({ address }) => forget(address))

  let is_stopped = false
  let is_closed = false
  async function review(): Promise<void> {
    const overdue_ms = clock.monotonic_ms() - limit_ms
    const hung = [...began_ms].filter(([, since_ms]) => since_ms < overdue_ms).map(([address]) => address)
    if (hung.length === 0 && !is_closed) return
    if (!is_closed)
      log.warn({ host: hung, timeout_ms: limit_ms }, 'a check of MongoDB does not end; connecting again')
    is_closed = true
    await client.close()
    if (is_stopped) return
    await client.connect()
    is_closed = false
  }
  const reviews = every(limit_ms / 4, review, (error) =>
    log.warn({ error }, 'MongoDB could not be connected again; trying again'),
  )
  return {
    /** Ends the watch. Resolves when it does not use the client any more. */
    stop(): Promise<void> {
      is_stopped = true
      return reviews.stop()
    },
  }
}

/** The servers that a URI names, and the files with which a process connects to them. */
export interface TlsServers {
  readonly servers: readonly { readonly host: string; readonly port: number }[]
  /** Of `mongodb+srv`: the DNS name whose SRV records name the servers. */
  readonly srv_name?: string
  /** The authority that the process trusts; without it the authorities of Node.js. */
  readonly ca_file?: string
  /** The certificate that the process shows, with its key. */
  readonly certificate_file?: string
  /** What decrypts the key in `certificate_file`, if it is encrypted. */
  readonly passphrase?: Secret
}

/**
 * The servers of a URI that uses TLS; none for one without TLS and for one that cannot be parsed, which fails elsewhere.
 * Connects to nothing.
 */
export function readTlsServers(uri: Secret): TlsServers {
  const options = parse(uri)
  if (!options?.tls) return { servers: [] }
  const { srvHost, srvServiceName, passphrase } = options
  const { tlsCAFile: ca_file, tlsCertificateKeyFile: certificate_file } = options
  const files = {
    ...(ca_file === undefined ? {} : { ca_file }),
    ...(certificate_file === undefined ? {} : { certificate_file }),
    ...(passphrase === undefined ? {} : { passphrase: new Secret(passphrase) }),
  }
  if (srvHost !== undefined) return { servers: [], srv_name: `_${srvServiceName}._tcp.${srvHost}`, ...files }
  const servers = options.hosts.flatMap(({ host, port }) =>
    host === undefined || port === undefined ? [] : [{ host, port }],
  )
  return { servers, ...files }
}

function parse(uri: Secret): MongoClient['options'] | undefined {
  try {
    return new MongoClient(uri.reveal()).options
  } catch {
    return undefined
  }
}

/** The interval in which the driver notices a silent server and ends the calls that wait for it. */
const HEARTBEAT_MS = 5_000
const POOL_IDLE_MS = 60_000

interface MongodbConnection {
  readonly uri: Secret
  readonly timeout_ms: number
  /** The most connections to each server. */
  readonly connections_max: number
  /** Whether a connection without a response for `timeout_ms` is closed. The creation of an index may take longer. */
  readonly closes_silent_connections: boolean
  readonly start_wait: StartWait
}

/** A client that a server has answered, with its calls. */
export type ConnectedMongodb = Awaited<ReturnType<typeof connectMongodb>>

/** Connects to MongoDB. Throws `Unavailable` when no server answers within the time that a start waits. */
export async function connectMongodb(connection: MongodbConnection) {
  const { timeout_ms, connections_max, start_wait } = connection
  const client = createClient(connection)
  const calls = createMongoCalls(client, timeout_ms, connections_max)
  const ping = async (): Promise<void> => {
    await calls.read((options) => openDatabase(client, 'admin').command({ ping: 1, ...options }))
  }
  let tries = 0
  /** After a first connection that failed, the client remains closed unless it is asked to connect again. */
  const connectAndPing = async (): Promise<void> => {
    tries += 1
    if (tries > 1) await calls.read(() => client.connect())
    await ping()
  }
  try {
    await waitForServer({ name: 'MongoDB', isMissing }, start_wait, connectAndPing)
  } catch (error) {
    await client.close()
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : error
    throw new Unavailable(`MongoDB does not answer (${reason}): start it, or correct MONGODB_URI`, {
      cause: error,
    })
  }
  return { client, calls, ping }
}

/** Whether the client is connected to a router of a sharded cluster. */
export async function isShardedCluster(client: MongoClient): Promise<boolean> {
  const hello = await client.db('admin').command({ hello: 1 })
  return hello['msg'] === 'isdbgrid'
}

/** Connects to a database for work of a command, whose single calls may take as long as they need. */
export async function withDatabase<T>(
  { mongodb_uri: uri, database, start_wait = { limit_ms: 0 } }: MongodbDatabase,
  work: (client: MongoClient, db: Db) => Promise<T>,
): Promise<T> {
  const limits = { timeout_ms: 10_000, connections_max: 5, closes_silent_connections: false }
  const { client } = await connectMongodb({ uri, ...limits, start_wait })
  try {
    return await work(client, openDatabase(client, database))
  } finally {
    await client.close()
  }
}

/**
 * A database handle with the concerns that the store promises. They are set here because options of the URI, such as
 * `readConcernLevel` and `journal`, win over the options of the client. Throws `TypeError` when they do not hold.
 */
export function openDatabase(client: MongoClient, name: string): Db {
  const db = client.db(name, {
    readPreference: 'primary',
    readConcern: new ReadConcern('majority'),
    writeConcern: { w: 'majority', journal: true },
  })
  const { readConcern, writeConcern, readPreference } = db
  const is_durable = writeConcern?.w === 'majority' && writeConcern.journal === true
  if (!is_durable || readConcern?.level !== 'majority' || readPreference?.mode !== 'primary')
    throw new TypeError('the database handle does not have the concerns of the store')
  return db
}

/** Whether no server answered. A server that answers with an error, such as a wrong password, is not waited for. */
function isMissing(error: unknown): boolean {
  return error instanceof Unavailable && !(error.cause instanceof MongoServerError)
}

/**
 * With `closes_silent_connections`, a connection without a response was lost by the network and is closed; the heartbeats
 * have connections of their own and do not notice it.
 */
function createClient({
  uri,
  timeout_ms,
  connections_max,
  closes_silent_connections,
}: MongodbConnection): MongoClient {
  try {
    return new MongoClient(uri.reveal(), {
      appName: 'multihub',
      retryReads: true,
      retryWrites: true,
      serverSelectionTimeoutMS: selectionTimeout(timeout_ms),
      waitQueueTimeoutMS: selectionTimeout(timeout_ms),
      connectTimeoutMS: timeout_ms,
      socketTimeoutMS: closes_silent_connections ? timeout_ms : 0,
      heartbeatFrequencyMS: HEARTBEAT_MS,
      maxPoolSize: connections_max,
      maxIdleTimeMS: POOL_IDLE_MS,
      useBigInt64: true,
      promoteBuffers: true,
      // Shows whether a command was sent, which separates a write that did not happen from one that may have happened.
      monitorCommands: true,
    })
  } catch (error) {
    // The driver's own message may repeat the URI, which holds a password.
    throw new Unavailable(
      `MONGODB_URI is not a MongoDB URI (${error instanceof Error ? error.name : typeof error})`,
    )
  }
}
