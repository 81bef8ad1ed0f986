import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Finds a free TCP port on 127.0.0.1. It is below the range of outgoing connections, so that no client can take the port
 * of a server that stops and starts again.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
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
