import { connect } from 'node:net'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type ClamdAddress, readResponse } from './scan-stream.ts'

/** Sends a command without content to clamd and returns its response. Throws `Unavailable` when there is none in time. */
export async function askClamd(
  address: ClamdAddress,
  command: 'PING' | 'VERSION',
  timeout_ms: number,
): Promise<string> {
  const socket = connect({ ...address })
  const timer = clock.after(timeout_ms, () =>
    socket.destroy(new Error(`no response within ${timeout_ms} ms`)),
  )
  try {
    const response = readResponse(socket)
    socket.write(`z${command}\0`)
    return await response
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Unavailable(`the virus scanner does not answer ${command} (${reason})`, { cause })
  } finally {
    timer.cancel()
    socket.destroy()
  }
}
