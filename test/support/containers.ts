import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { StartedTestContainer } from 'testcontainers'
import { freePort } from './free-port.ts'

const DOCKER_WITHIN_MS = 2_000
const START_WITHIN_MS = 120_000
/** A script for mongosh that fails if the set has no primary within 30 s. */
const WAIT_FOR_PRIMARY =
  'for (let i = 0; i < 600 && !db.hello().primary; i += 1) sleep(50); if (!db.hello().primary) quit(1)'

/** Checks within 2 s whether a Docker engine accepts connections. testcontainers itself can take 30 s to give up. */
export async function dockerAnswers(): Promise<boolean> {
  const attempts = dockerSockets().map(async (socket) => {
    try {
      await once(socket, 'connect', { signal: AbortSignal.timeout(DOCKER_WITHIN_MS) })
    } finally {
      socket.destroy()
    }
  })
  return Promise.any(attempts).then(
    () => true,
    () => false,
  )
}

/** Starts `mongo` as a replica set with one member, which majority writes need. Resolves when it is primary. */
export async function mongodbInContainer(): Promise<{ uri: string; stop(): Promise<void> }> {
  const { GenericContainer, Wait } = await import('testcontainers')
  const container = await new GenericContainer('mongo:8')
    .withCommand(['mongod', '--replSet', 'rs0', '--bind_ip_all'])
    .withExposedPorts(27017)
    .withWaitStrategy(Wait.forLogMessage('Waiting for connections'))
    .withStartupTimeout(START_WITHIN_MS)
    .start()
  const members = '[{ _id: 0, host: "127.0.0.1:27017" }]'
  const script = `rs.initiate({ _id: "rs0", members: ${members} }); ${WAIT_FOR_PRIMARY}`
  const initiated = await container.exec(['mongosh', '--quiet', '--eval', script])
  if (initiated.exitCode !== 0) {
    await container.stop()
    throw new Error(`The replica set did not start: ${initiated.output}`)
  }
  return { uri: `mongodb://${address(container, 27017)}/?directConnection=true`, stop: stopOf(container) }
}

/** A MongoDB of three members. */
export interface ReplicaSet {
  readonly uri: string
  /** Makes the primary step down, so that the other members elect another one. */
  stepDown(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts `mongo` as a replica set of three members. All of them are in one container, on the same ports as outside, so that
 * the addresses that the members know of each other are valid for the tests too.
 */
export async function replicaSetInContainer(): Promise<ReplicaSet> {
  const { GenericContainer, Wait } = await import('testcontainers')
  const ports = [await freePort(), await freePort(), await freePort()]
  const start = ports.map(
    (port) =>
      `mkdir -p /data/${port} && mongod --replSet rs0 --port ${port} --dbpath /data/${port} --bind_ip_all ` +
      `--wiredTigerCacheSizeGB 0.25 --fork --logpath /data/${port}.log`,
  )
  const container = await new GenericContainer('mongo:8')
    .withEntrypoint(['bash', '-c'])
    .withCommand([`${start.join(' && ')} && tail -n +1 -F /data/*.log`])
    .withExposedPorts(...ports.map((port) => ({ container: port, host: port })))
    .withWaitStrategy(Wait.forLogMessage(/Waiting for connections/, ports.length))
    .withStartupTimeout(START_WITHIN_MS)
    .start()
  const members = ports.map((port, id) => `{ _id: ${id}, host: "127.0.0.1:${port}" }`)
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',')
  const uri = `mongodb://${hosts}/?replicaSet=rs0`
  const evaluate = async (address: string, script: string): Promise<void> => {
    const { exitCode, output } = await container.exec(['mongosh', address, '--quiet', '--eval', script])
    if (exitCode !== 0) throw new Error(`the replica set refused ${script}: ${output}`)
  }
  try {
    await evaluate(
      `mongodb://127.0.0.1:${ports[0]}/`,
      `rs.initiate({ _id: "rs0", members: [${members}] }); ${WAIT_FOR_PRIMARY}`,
    )
  } catch (error) {
    await container.stop()
    throw error
  }
  return {
    uri,
    stepDown: () => evaluate(uri, 'db.adminCommand({ replSetStepDown: 10 })'),
    stop: stopOf(container),
  }
}

/** Starts `nats` without JetStream, which this system does not use. */
export async function natsInContainer(): Promise<{ url: string; stop(): Promise<void> }> {
  const { GenericContainer, Wait } = await import('testcontainers')
  const container = await new GenericContainer('nats:2')
    .withExposedPorts(4222)
    .withWaitStrategy(Wait.forLogMessage('Server is ready'))
    .withStartupTimeout(START_WITHIN_MS)
    .start()
  return { url: `nats://${address(container, 4222)}`, stop: stopOf(container) }
}

function address(container: StartedTestContainer, port: number): string {
  return `${container.getHost()}:${container.getMappedPort(port)}`
}

function stopOf(container: StartedTestContainer): () => Promise<void> {
  return async () => {
    await container.stop()
  }
}

// The same places as testcontainers tries.
function dockerSockets(): Socket[] {
  const named = process.env['DOCKER_HOST']
  if (named?.startsWith('unix://')) return [connect(named.slice('unix://'.length))]
  if (named) {
    const { hostname, port } = new URL(named)
    return [connect(Number(port || 2375), hostname)]
  }
  const runtime_folder = process.env['XDG_RUNTIME_DIR']
  const rootless = runtime_folder ? [join(runtime_folder, 'docker.sock')] : []
  const paths = ['/var/run/docker.sock', ...rootless, join(homedir(), '.docker/run/docker.sock')]
  return paths.map((path) => connect(path))
}
