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

/** Finds free ports that differ from each other, because a random port can repeat. */
export async function differentFreePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}

/**
 * Finds a free TCP port on 127.0.0.1. It is below the range of outgoing connections, so that no client can take the port
 * of a server that stops and starts again.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries += 1) {
    const port = 10_000 + Math.floor(Math.random() * 10_000)
    if (await isFree(port)) return port
  }
  throw new Error('No free port between 10000 and 19999 was found in 50 tries')
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
