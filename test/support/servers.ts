import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { dockerAnswers, mongodbInContainer, natsInContainer } from './containers.ts'
import { type PrivateNats, spawnNats } from './private-nats.ts'
import { findProgram } from './programs.ts'
import { startTcpProxy } from './tcp-proxy.ts'

/** Why there is no server, in words for the report of the tests. */
export interface Skip {
  readonly skip: string
}

/** A MongoDB, or what stands in for one. Shared with other tests: take a database name of your own and drop it. */
export interface MongodbServer {
  readonly uri: string
  /** Stops what was started for this call; leaves alone what ran before. */
  stop(): Promise<void>
}

/** A NATS server. Shared with other tests: take subjects of your own. */
export interface NatsServer {
  readonly url: string
  /** Stops what was started for this call; leaves alone what ran before. */
  stop(): Promise<void>
}

/** The way to a MongoDB that a test can cut, to see what becomes of writes when the database is out of reach. */
export interface PrivateMongoProxy {
  readonly uri: string
  /** Drops every connection and refuses new ones, as a database does that was killed. */
  cut(): Promise<void>
  /** Lets nothing through but keeps connections open, as a broken network does: only time-outs tell. */
  stall(): void
  /** Ends `cut` or `stall`; what a stall held back arrives now. */
  restore(): Promise<void>
  stop(): Promise<void>
}

const project = resolve(import.meta.dirname, '../..')
const servers_folder = resolve(project, process.env['MULTIHUB_SERVERS_DIR'] ?? '.servers')

/**
 * Finds both kinds of server at once, for a runner that shares them among all test files: set MONGODB_URI and
 * NATS_URL from the answers, and call `stop` of each when the last test has ended.
 */
export async function findServers(): Promise<{ mongodb: MongodbServer | Skip; nats: NatsServer | Skip }> {
  const [mongodb, nats] = await Promise.all([mongodbForTests(), natsForTests()])
  return { mongodb, nats }
}

/** The same from containers alone, whatever else there is: the way of a machine that has Docker and nothing more. */
export async function serversInContainers(): Promise<{
  mongodb: MongodbServer | Skip
  nats: NatsServer | Skip
}> {
  const mongodb = inContainer('MongoDB', 'containers were asked for', mongodbInContainer)
  const nats = inContainer('NATS', 'containers were asked for', natsInContainer)
  return { mongodb: await mongodb, nats: await nats }
}

/**
 * Answers the first of: MONGODB_URI, the server of `scripts/servers/start`, a container; else why there is none.
 * With MULTIHUB_REQUIRE_SERVERS=1 it throws instead: CI must not pass because it skipped.
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
 * Answers the first of: NATS_URL, the server of `scripts/servers/start`, a `nats-server` program started for this
 * call, a container; else why there is none. With MULTIHUB_REQUIRE_SERVERS=1 it throws instead.
 */
export async function natsForTests(): Promise<NatsServer | Skip> {
  const url = process.env['NATS_URL'] || (await startedByScript('NATS_URL'))
  if (url) return { url, stop: async () => {} }
  const program = await natsProgram()
  if (program) return spawnNats(program)
  return inContainer('NATS', 'NATS_URL is not set, nats-server is not on PATH', natsInContainer)
}

/**
 * Starts a NATS server that belongs to the calling test, to be killed and started again on the same port. Needs the
 * program: a container would come back on another port.
 */
export async function startPrivateNats(): Promise<PrivateNats | Skip> {
  const program = await natsProgram()
  if (program) return spawnNats(program)
  return missing(
    'a NATS server of its own',
    'nats-server is neither on PATH nor installed by scripts/servers/install',
  )
}

/**
 * Puts a proxy in the test's own process before the MongoDB at hand (or at `uri`), so that one test can lose the
 * database while others use it. The URI must name one host: the proxy stands for one server.
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
  // Without it the driver would ask the server for the addresses of its set, and go around the proxy.
  options.set('directConnection', 'true')
  return {
    uri: `${start}127.0.0.1:${proxy.port}/${path}?${options}`,
    cut: proxy.cut,
    stall: proxy.stall,
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
  if (!(await dockerAnswers())) return missing(name, `${reason}, and no Docker engine answers`)
  try {
    return await start()
  } catch (cause) {
    return missing(name, `${reason}, and Docker did not start it: ${cause}`)
  }
}

function missing(name: string, reason: string): Skip {
  const skip = `${name} is not at hand: ${reason}`
  if (process.env['MULTIHUB_REQUIRE_SERVERS'] === '1')
    throw new Error(`${skip} (MULTIHUB_REQUIRE_SERVERS is set)`)
  return { skip }
}

// The script alone knows how to tell a running server from a stale record.
function startedByScript(variable: string): Promise<string | undefined> {
  return new Promise((found) => {
    execFile(join(project, 'scripts/servers/env'), { timeout: 60_000 }, (_error, output) => {
      const line = output.split('\n').find((text) => text.startsWith(`${variable}=`))
      found(line?.slice(variable.length + 1))
    })
  })
}

function natsProgram(): Promise<string | undefined> {
  return findProgram('nats-server', [join(servers_folder, 'bin')])
}
