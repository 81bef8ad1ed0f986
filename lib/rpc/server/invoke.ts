import type { Message } from '@bufbuild/protobuf'
import { Code, type HandlerContext } from '@connectrpc/connect'
import { clock } from '#lib/base/time.ts'
import { RpcStatusError } from '../errors/rpc-status-error.ts'
import type { CallContext } from './handler-context.ts'

/** A method of an implementation. `rpcService` has checked its types at compile time. */
export type Handler = (request: Message, context: HandlerContext) => unknown

/** The limits on waiting for a handler. */
export interface InvokeLimits {
  readonly timeout_ms: number
  onCancelled(listener: () => void): void
  /** Called with the error of a handler that failed after the wait had ended. */
  onLateFailure(error: unknown): void
}

/**
 * Runs a handler until it responds, its time is over, or its caller has gone, whichever comes first. A handler that
 * ignores its signal continues alone, and a later error of it is still reported.
 */
export function invoke(
  handler: Handler,
  request: Message,
  context: CallContext,
  limits: InvokeLimits,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let waiting = true
    const stopWaiting = (): boolean => {
      const was_waiting = waiting
      waiting = false
      timer.cancel()
      return was_waiting
    }
    const giveUp = (status: Code, reason: string): void => {
      if (!stopWaiting()) return
      const refusal = new RpcStatusError(status, reason)
      context.abort(refusal)
      reject(refusal)
    }
    const timer = clock.after(limits.timeout_ms, () =>
      giveUp(Code.DeadlineExceeded, 'no response before the deadline'),
    )
    limits.onCancelled(() => giveUp(Code.Canceled, 'the caller has gone'))
    const work = async (): Promise<unknown> => handler(request, context)
    work().then(
      (response) => {
        if (stopWaiting()) resolve(response)
      },
      (error: unknown) => {
        if (stopWaiting()) reject(error)
        else limits.onLateFailure(error)
      },
    )
  })
}
