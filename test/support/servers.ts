import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { dockerAnswers, mongodbInContainer, natsInContainer } from './containers.ts'
import { type PrivateClamd, spawnClamd } from './private-clamd.ts'
import { type PrivateNats, spawnNats } from './private-nats.ts'
import { findProgram, SERVERS_FOLDER } from './programs.ts'
import { type Skip, skipWithout } from './skip.ts'
import { startTcpProxy } from './tcp-proxy.ts'

/** A MongoDB that other tests use too. Use your own database name and drop it at the end. */
export interface MongodbServer {
  readonly uri: string
  /** Stops the server if this call started it. */
  stop(): Promise<void>
}

/** A NATS server that other tests use too. Use your own subjects. */
export interface NatsServer {
  readonly url: string
  /** Stops the server if this call started it. */
  stop(): Promise<void>
}

/** A proxy to a MongoDB. A test can interrupt it to simulate an outage of the database. */
export interface PrivateMongoProxy {
  readonly uri: string
  /** Drops every connection and refuses new ones, like a database that was killed. */
  cut(): Promise<void>
  /** Passes no bytes but keeps connections open, like a broken network. Clients notice by their time-outs only. */
  stall(): void
  /** Ends `cut` or `stall`. Bytes that `stall` held back are sent now. */
  restore(): Promise<void>
  /** Loses each connection that sends `text` while `work` runs; the others, such as heartbeats, go on. */
  loseConnectionsThatSend(text: string, work: () => Promise<unknown>): Promise<void>
  stop(): Promise<void>
}

const project = resolve(import.meta.dirname, '../..')

/**
 * Finds MongoDB and NATS for a runner that shares them among all test files. Set MONGODB_URI and NATS_URL from the
 * results, and call `stop` of each when the last test has ended.
 */
export async function findServers(): Promise<{ mongodb: MongodbServer | Skip; nats: NatsServer | Skip }> {
  const [mongodb, nats] = await Promise.all([mongodbForTests(), natsForTests()])
  return { mongodb, nats }
}

/**
 * Returns the first of: MONGODB_URI, the server of `scripts/servers/start`, a container. Otherwise says why there is none.
 * With MULTIHUB_CI=1 it throws instead: CI must not pass because it skipped.
 */
export async function mongodbForTests(): Promise<MongodbServer | Skip> {
  const uri = process.env['MONGODB_URI'] || (await startedByScript('MONGODB_URI'))
  if (uri) return { uri, stop: async () => {} }
  return inContainer(
    'MongoDB',
    'MONGODB_URI is not set, scripts/servers/start has not run',
    mongodbInContainer,
  )
}

/**
 * Returns the first of: NATS_URL, the server of `scripts/servers/start`, a `nats-server` program started for this call,
 * a container. Otherwise says why there is none. With MULTIHUB_CI=1 it throws instead.
 */
export async function natsForTests(): Promise<NatsServer | Skip> {
  const url = process.env['NATS_URL'] || (await startedByScript('NATS_URL'))
  if (url) return { url, stop: async () => {} }
  const program = natsProgram()
  if (program) return spawnNats(program)
  return inContainer('NATS', 'NATS_URL is not set, nats-server is not on PATH', natsInContainer)
}

/**
 * Starts a NATS server for the calling test, which can kill it and start it again on the same port. It needs the program,
 * because a container would get another port.
 */
export async function startPrivateNats(
  server_config?: string,
  parent_folder?: string,
): Promise<PrivateNats | Skip> {
  const program = natsProgram()
  if (program) return spawnNats(program, server_config, parent_folder)
  return skipWithout('nats-server is neither on PATH nor installed by scripts/servers/install')
}

/**
 * Starts a virus scanner for the calling test, which may give its scans another time limit. With MULTIHUB_CI=1
 * it throws when clamd is not installed.
 */
export async function startPrivateClamd(max_scan_ms?: number): Promise<PrivateClamd | Skip> {
  const program = findProgram('clamd', [join(SERVERS_FOLDER, 'bin')])
  if (program) return spawnClamd(program, max_scan_ms)
  return skipWithout('clamd is neither on PATH nor installed by scripts/servers/install')
}

/**
 * Starts a proxy in the process of the test to the available MongoDB (or to `uri`), so that one test can have an outage
 * while others use the database. The URI must name one host.
 */
export async function startPrivateMongoProxy(uri?: string): Promise<PrivateMongoProxy | Skip> {
  const server = uri ? { uri, stop: async () => {} } : await mongodbForTests()
  if ('skip' in server) return server
  const parts = /^(mongodb:\/\/(?:[^@/]*@)?)(\[[^\]]+\]|[^:/?,]+)(?::(\d+))?(?:\/([^?]*))?(?:\?(.*))?$/.exec(
    server.uri,
  )
  if (!parts) throw new Error('The proxy needs a mongodb:// URI that names one host')
  const [, start = '', host = '', port = '27017', path = '', query = ''] = parts
  const proxy = await startTcpProxy(host.replace(/^\[|\]$/g, ''), Number(port))
  const options = new URLSearchParams(query)
  // Without it the driver would read the addresses of the replica set and bypass the proxy.
  options.set('directConnection', 'true')
  return {
    uri: `${start}127.0.0.1:${proxy.port}/${path}?${options}`,
    cut: proxy.cut,
    stall: proxy.stall,
    loseConnectionsThatSend: proxy.loseConnectionsThatSend,
    restore: proxy.restore,
    stop: async () => {
      await proxy.cut()
      await server.stop()
    },
  }
}

async function inContainer<Server>(
  name: string,
  reason: string,
  start: () => Promise<Server>,
): Promise<Server | Skip> {
  if (!(await dockerAnswers()))
    return skipWithout(`${name} is not available: ${reason}, and no Docker engine answers`)
  try {
    return await start()
  } catch (cause) {
    return skipWithout(`${name} is not available: ${reason}, and Docker did not start it: ${cause}`)
  }
}

// Only the script can distinguish a running server from a stale record.
function startedByScript(variable: string): Promise<string | undefined> {
  return new Promise((found) => {
    execFile(join(project, 'scripts/servers/env'), { timeout: 60_000 }, (_error, output) => {
      const line = output.split('\n').find((text) => text.startsWith(`${variable}=`))
      found(line?.slice(variable.length + 1))
    })
  })
}

function natsProgram(): string | undefined {
  return findProgram('nats-server', [join(SERVERS_FOLDER, 'bin')])
}
