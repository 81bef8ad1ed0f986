import { once } from 'node:events'
import { createServer } from 'node:net'

/** The variables of all ports that a process can open. */
export const PORT_VARIABLES: readonly string[] = [
  'HTTP',
  'GRPC',
  'CONNECT',
  'SANDBOX',
  'PROVIDER',
  'ATTACHMENTS',
  'HEALTH',
  'BACKOFFICE',
  'REFERENCE',
].map((name) => `MULTIHUB_${name}_PORT`)

/** Settings that make a process choose all its ports itself. */
export const ANY_PORTS: Readonly<Record<string, string>> = Object.fromEntries(
  PORT_VARIABLES.map((variable) => [variable, '0']),
)

/** Settings with a free port for each variable, which a process keeps when it is started again. */
export async function freePorts(): Promise<Readonly<Record<string, string>>> {
  const ports = await differentFreePorts(PORT_VARIABLES.length)
  return Object.fromEntries(PORT_VARIABLES.map((variable, index) => [variable, `${ports[index]}`]))
}

/** Finds free ports that differ from each other. */
export async function differentFreePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = []
  while (ports.length < count) ports.push(await freePort())
  return ports
}

/**
 * The ports are below the range of outgoing connections, so that no client can take the port of a server that stops and
 * starts again. Each worker of the test runner has a range of its own, and so has the run of proofs/updates: another
 * one cannot take a port before it is opened.
 */
const FIRST_PORT = 10_000
const RANGES = 10
const PORTS_PER_RANGE = 1_000
const range = Number(process.env['TEST_PORT_RANGE'] ?? process.env['JEST_WORKER_ID'] ?? 0) % RANGES

const given = new Set<number>()

/** Finds a free TCP port on 127.0.0.1 that it has not returned before. */
export async function freePort(): Promise<number> {
  const first = FIRST_PORT + range * PORTS_PER_RANGE
  for (let tries = 0; tries < 50; tries += 1) {
    const port = first + Math.floor(Math.random() * PORTS_PER_RANGE)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
  throw new Error(`no free port between ${first} and ${first + PORTS_PER_RANGE - 1} was found in 50 tries`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return true
  } catch {
    return false
  }
}
