import { logVerbosity, setLogger, setLogVerbosity } from '@grpc/grpc-js'
import type { Log } from '#lib/telemetry/log.ts'

/** Sends the errors of grpc-js to our log instead of the console. grpc-js has one logger per process. */
export function logGrpc(log: Log): void {
  const write = (...texts: readonly unknown[]): void =>
    log.warn({ part: 'grpc', error: texts.map(String).join(' ') }, 'gRPC library message')
  setLogger({ error: write })
  setLogVerbosity(logVerbosity.ERROR)
}
