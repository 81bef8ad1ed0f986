import { connect, type Socket } from 'node:net'
import { eventually } from './eventually.ts'

/**
 * Fills a port with twice the connections that it permits, which send nothing but `first_bytes`, until the port has closed as
 * many as it must. Returns the function that ends them.
 */
export async function fillPort(port: number, connections_max: number, first_bytes = ''): Promise<() => void> {
  const waiting = Array.from({ length: 2 * connections_max }, (): Socket => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => socket.destroy()).resume()
    socket.write(first_bytes)
    return socket
  })
  await eventually(
    async () => waiting.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length,
    (closed = 0) => closed >= connections_max,
  )
  return () => waiting.forEach((socket) => void socket.destroy())
}
