import { connect } from 'node:net'

/** Opens and closes one TCP connection, to show that something listens. Throws the error of the system, or a time-out. */
export function reach(host: string, port: number, limit_ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: limit_ms })
    socket.once('connect', () => {
      socket.destroy()
      resolve()
    })
    socket.once('timeout', () => socket.destroy(new Error(`no answer within ${limit_ms / 1_000} s`)))
    socket.once('error', reject)
  })
}
