import type { DescMethodUnary } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { currentRequest } from '#lib/base/context.ts'
import { elapsedSince } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { LogFields } from '#lib/telemetry/fields.ts'
import type { Log } from '#lib/telemetry/log.ts'
import { histogram } from '#lib/telemetry/metrics.ts'
import { RpcStatusError, toCallerError } from '../errors/rpc-status-error.ts'
import { toPublicError } from '../errors/translate-errors.ts'
import { roleOf } from '../service.ts'

/** Reports the calls of one method: all of them to the metrics, failed ones also to the log. */
export interface CallReport {
  answered(started_ms: number): void
  /** Logs the cause of a failure. This is the only place that does; the caller never sees the cause. */
  failed(error: unknown, started_ms: number): void
  /** Reports a handler that failed after its call had ended. */
  failedLate(error: unknown): void
}

const seconds = histogram('multihub_rpc_seconds', 'Duration of RPCs that this process served, by status.', [
  'service',
  'method',
  'code',
])

/** Creates the report of one method. */
export function createReport(method: DescMethodUnary, log: Log): CallReport {
  const method_log = log.child(roleOf(method.parent))
  const service = method.parent.typeName
  const rpc = `${service}/${method.name}`
  const ok = { service, method: method.name, code: 'Ok' }
  // A refusal is intended: its reason is logged, and a stack trace would add nothing.
  const fieldsOf = (error: unknown): LogFields => ({
    rpc,
    caller: currentRequest()?.caller ?? 'unknown',
    ...(error instanceof RpcStatusError ? { reason: error.message } : { error }),
  })
  return {
    answered(started_ms) {
      seconds.observe(ok, elapsedSince(started_ms) / 1_000)
    },
    failed(error, started_ms) {
      const duration_ms = elapsedSince(started_ms)
      const rpc_code = Code[toCallerError(error).code]
      seconds.observe({ service, method: method.name, code: rpc_code }, duration_ms / 1_000)
      const code = error instanceof RpcStatusError ? undefined : toPublicError(error).code
      method_log[levelOf(error)]({ ...fieldsOf(error), rpc_code, code, duration_ms }, 'RPC failed')
    },
    failedLate(error) {
      const expected = error instanceof RpcStatusError || error instanceof PublicError || isAbort(error)
      method_log[expected ? 'debug' : 'error'](fieldsOf(error), 'RPC failed after its call had ended')
    },
  }
}

/** Refusals that an operator needs to see: callers without permission, and calls that reached their deadline. */
const NOTABLE: readonly Code[] = [Code.Unauthenticated, Code.PermissionDenied, Code.DeadlineExceeded]

function levelOf(error: unknown): 'debug' | 'warn' | 'error' {
  if (error instanceof RpcStatusError) return NOTABLE.includes(error.status) ? 'warn' : 'debug'
  const { code } = toPublicError(error)
  if (code === 2002) return 'warn'
  // A 2001 from another role was logged there with its cause, so a warning is enough here.
  if (error instanceof PublicError) return code === 2001 ? 'warn' : 'debug'
  return 'error'
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}
