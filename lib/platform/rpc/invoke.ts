import type { Message } from '@bufbuild/protobuf'
import { Code, type HandlerContext } from '@connectrpc/connect'
import { clock } from '#lib/platform/time.ts'
import type { CallContext } from './handler-context.ts'
import { RpcStatusError } from './rpc-status-error.ts'

/** A method of an implementation, of which only the compiler that checked `rpcService` knows the types. */
export type Handler = (request: Message, context: HandlerContext) => unknown

/** When a handler is no longer waited for. */
export interface InvokeLimits {
  readonly timeout_ms: number
  onCancelled(listener: () => void): void
  /** Told what a handler threw that nobody waited for any more. */
  onLateFailure(error: unknown): void
}

/**
 * Runs a handler until it answers, its time is up or its caller has gone, whichever comes first. A handler that does
 * not heed its signal goes on alone; what it throws then is still reported.
 */
export function invoke(
  handler: Handler,
  request: Message,
  context: CallContext,
  patience: InvokeLimits,
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
    const timer = clock.after(patience.timeout_ms, () =>
      giveUp(Code.DeadlineExceeded, 'no answer in the time that the caller gave'),
    )
    patience.onCancelled(() => giveUp(Code.Canceled, 'the caller has gone'))
    const work = async (): Promise<unknown> => handler(request, context)
    work().then(
      (answer) => {
        if (stopWaiting()) resolve(answer)
      },
      (error: unknown) => {
        if (stopWaiting()) reject(error)
        else patience.onLateFailure(error)
      },
    )
  })
}
