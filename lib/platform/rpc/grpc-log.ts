import { logVerbosity, setLogger, setLogVerbosity } from '@grpc/grpc-js'
import type { Log } from '#lib/platform/telemetry/log.ts'

/** Lets grpc-js tell its troubles to our log instead of the console. It has one logger a process. */
export function logGrpc(log: Log): void {
  const tell = (...texts: readonly unknown[]): void =>
    log.warn({ part: 'grpc', error: texts.map(String).join(' ') }, 'the gRPC library reports')
  setLogger({ error: tell, info: tell, debug: tell })
  setLogVerbosity(logVerbosity.ERROR)
}
