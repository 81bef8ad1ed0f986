import { create, type DescMessage, type Message, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { Code, createContextKey, type HandlerContext } from '@connectrpc/connect'
import { currentRequest, endAct, withRequest } from '#lib/base/context.ts'
import { clock, elapsedSince } from '#lib/base/time.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { inCallSlot } from '#lib/telemetry/call-slots.ts'
import type { Log, LogFields } from '#lib/telemetry/log.ts'
import { histogram, level } from '#lib/telemetry/metrics.ts'
import { inSpan, type SpanDescription } from '#lib/telemetry/span.ts'
import type { AuthenticateCaller } from '../credentials.ts'
import { isLoggedByItsOwner, RpcStatusError, toCallerError, toPublicError } from '../errors.ts'
import { type CallerName, isUnary, type RpcService, roleOf, type ServedMethod } from '../service.ts'
import { CALLS_MAX, MESSAGE_MAX_BYTES } from '../settings.ts'
import {
  CallContext,
  type CallHead,
  type CallRequestContext,
  type IncomingCall,
  requestContextOf,
} from './incoming.ts'

/** The function of a handler. `rpcService` has checked its types at compile time. */
export type Handler = (request: Message, context: HandlerContext) => unknown

interface InvokeLimits {
  readonly timeout_ms: number
  onCancelled(listener: () => void): void
  /** Called with the error of a handler that failed after the wait had ended. */
  onLateFailure(error: unknown): void
}

/**
 * Runs a handler until it responds, its time is over, or its caller has gone, whichever comes first. A handler that
 * ignores its signal continues alone, and a later error of it is still reported.
 */
function invoke(
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
    // A caller that does not wait has begun nothing.
    if (limits.timeout_ms <= 0) return giveUp(Code.DeadlineExceeded, 'the deadline passed before the call')
    const work = async (): Promise<unknown> => handler(request, context)
    work().then(
      (response) => {
        endAct()
        if (stopWaiting()) resolve(response)
      },
      (error: unknown) => {
        endAct()
        if (stopWaiting()) reject(error)
        else limits.onLateFailure(error)
      },
    )
  })
}

/** Reports the calls of one method: all of them to the metrics, failed ones also to the log. */
type CallReport = ReturnType<typeof createReport>

const seconds = histogram('multihub_rpc_seconds', 'Duration of RPCs that this process served, by status.', [
  'service',
  'method',
  'code',
])

function createReport(method: ServedMethod, log: Log) {
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
    answered(started_ms: number) {
      seconds.observe(ok, elapsedSince(started_ms) / 1_000)
    },
    /**
     * Logs the cause of a failure, which the caller never sees. What another role has answered is logged there, so each failure has
     * one line, in the process that met it.
     */
    failed(error: unknown, started_ms: number) {
      const duration_ms = elapsedSince(started_ms)
      const rpc_code = Code[toCallerError(error).code]
      seconds.observe({ service, method: method.name, code: rpc_code }, duration_ms / 1_000)
      const code = error instanceof RpcStatusError ? undefined : toPublicError(error).code
      method_log[levelOf(error)]({ ...fieldsOf(error), rpc_code, code, duration_ms }, 'RPC failed')
    },
    /** Reports a handler that failed after its call had ended. */
    failedLate(error: unknown) {
      const expected = error instanceof RpcStatusError || error instanceof PublicError || isAbort(error)
      method_log[expected ? 'debug' : 'error'](fieldsOf(error), 'RPC failed after its call had ended')
    },
  }
}

/** Refusals that an operator needs to see: callers without permission, and calls that reached their deadline. */
const NOTABLE: readonly Code[] = [Code.Unauthenticated, Code.PermissionDenied, Code.DeadlineExceeded]

function levelOf(error: unknown): 'debug' | 'warn' | 'error' {
  if (error instanceof RpcStatusError) return NOTABLE.includes(error.status) ? 'warn' : 'debug'
  const shown = toPublicError(error)
  if (shown.code === 2002) return isLoggedByItsOwner(shown) ? 'debug' : 'warn'
  // A 2001 is made of a fault; the other role has logged its own.
  if (error instanceof PublicError)
    return shown.code === 2001 && !isLoggedByItsOwner(shown) ? 'warn' : 'debug'
  return 'error'
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

/** The response of a handler: its message and the encoded bytes. Encoding here shows a bad response as our fault. */
interface HandlerResponse {
  readonly message: Message
  readonly bytes: Uint8Array
}

/** Where the handler of a stream leaves the messages after the first one. They end when the caller has gone. */
export const stream_key = createContextKey<((signal: AbortSignal) => AsyncIterable<Message>) | undefined>(
  undefined,
)

/** One method of a service, ready to be called over any transport. */
export interface RpcEndpoint {
  readonly method: ServedMethod
  /**
   * Refuses a call whose caller is unknown or not permitted, before its message is read. It throws like `call`, which
   * checks the caller in any case.
   */
  checkCaller(head: CallHead): Promise<void>
  /**
   * Runs the call. It throws only a `ConnectError` that the caller may see unchanged. For a stream this is its beginning: it
   * returns the first message, and `stream_key` has the others.
   */
  call(incoming: IncomingCall): Promise<HandlerResponse>
}

/** Creates the endpoints of a service. Throws when one of its RPCs cannot be served. */
type Dispatcher = (service: RpcService) => readonly RpcEndpoint[]

/** Decides about a call from its head, before its message is read. */
export interface CallPolicy {
  /** The name of the caller in the log; `undefined` for a caller that is not known, or not yet. */
  identify(head: CallHead): string | undefined
  /** Throws the refusal of a call, as an `RpcStatusError`; or its promise rejects. */
  check(head: CallHead, caller: string | undefined): void | Promise<void>
  /** Whether a person or a program outside may be the caller; then its call can begin a trace. */
  isOutside(caller: string | undefined): boolean
}

/** Creates the endpoint of one method: who may call it, and the function that answers it. */
export type CreateEndpoint = (method: ServedMethod, policy: CallPolicy, handler: Handler) => RpcEndpoint

const calls_in_flight = level('multihub_rpc_in_flight', 'RPCs that this process is serving.').of({})

/**
 * Creates the factory of the endpoints of a process or port. Calls over every transport (in memory, gRPC, Connect) go through its
 * endpoints, so that permissions, deadlines, errors, log and metrics are the same for all.
 */
export function createEndpointFactory(log: Log): CreateEndpoint {
  let in_progress = 0
  return (method, policy, handler) => {
    const report = createReport(method, log)
    const span: SpanDescription = { name: `${method.parent.typeName}/${method.name}`, kind: 'server' }
    const entry_span: SpanDescription = { ...span, begins_trace: true }

    /** Does `work` for a caller that may call the method. Reports a failure and throws it as the caller may see it. */
    async function forPermitted<T>(
      head: CallHead,
      started_ms: number,
      work: (context: CallRequestContext) => Promise<T>,
    ): Promise<T> {
      const caller = policy.identify(head)
      const context = requestContextOf(head, caller, started_ms)
      return withRequest(context, async () => {
        try {
          const check = policy.check(head, caller)
          if (check !== undefined) await check
          return await work(context)
        } catch (error) {
          report.failed(error, started_ms)
          const status = toCallerError(error)
          status.metadata.set('x-request-id', context.request_id)
          throw status
        }
      })
    }

    return {
      method,
      checkCaller: (head) => forPermitted(head, clock.monotonic_ms(), async () => undefined),
      async call(incoming) {
        const started_ms = clock.monotonic_ms()
        in_progress += 1
        calls_in_flight.value += 1
        try {
          return await forPermitted(incoming, started_ms, async ({ deadline_ms, caller }) => {
            if (in_progress > CALLS_MAX) throw new Unavailable(`more than ${CALLS_MAX} calls are in progress`)
            const response = await inCallSlot('rpc', () =>
              inSpan(policy.isOutside(caller) ? entry_span : span, () =>
                run(method, handler, incoming, deadline_ms, report),
              ),
            )
            report.answered(started_ms)
            return response
          })
        } finally {
          in_progress -= 1
          calls_in_flight.value -= 1
        }
      },
    }
  }
}

/** Creates the dispatcher of a process, which permits each RPC to the callers that its handler names. */
export function createDispatcher(authenticate: AuthenticateCaller, log: Log): Dispatcher {
  const createEndpoint = createEndpointFactory(log)
  const identify = ({ caller }: CallHead): CallerName | undefined => {
    if (typeof caller === 'string') return caller
    try {
      return authenticate(caller)
    } catch (error) {
      log.error({ error, part: 'rpc' }, 'authentication of a caller failed with a fault; the call is refused')
      return undefined
    }
  }
  // Other roles call as part of a request or in the background, such as once per second for their caches.
  const isOutside = (caller: string | undefined): boolean => caller === 'internal'
  return (service) =>
    // Streams end at the door of the back office, so no transport between processes has them.
    service.descriptor.methods.filter(isUnary).map((method) => {
      const { callers, handler } = handlerOf(service, method)
      const permitted = new Set<string>(callers)
      const check = (_head: CallHead, caller: string | undefined): void =>
        checkPermission(method, caller, permitted)
      return createEndpoint(method, { identify, check, isOutside }, handler)
    })
}

function handlerOf(
  { handlers }: RpcService,
  method: ServedMethod,
): { readonly callers: readonly CallerName[]; readonly handler: Handler } {
  const { callers = [], handle } = handlers[method.localName] ?? {}
  if (typeof handle !== 'function')
    throw new TypeError(`${method.parent.typeName}/${method.name} has no handler`)
  return { callers, handler: (request, context) => handle(request, context) }
}

function checkPermission(
  method: ServedMethod,
  caller: string | undefined,
  permitted: ReadonlySet<string>,
): void {
  if (caller === undefined)
    throw new RpcStatusError(Code.Unauthenticated, 'the call has no known token or client certificate')
  if (!permitted.has(caller))
    throw new RpcStatusError(
      Code.PermissionDenied,
      `${caller} may not call ${method.parent.typeName}/${method.name}`,
    )
}

async function run(
  method: ServedMethod,
  handler: Handler,
  incoming: IncomingCall,
  deadline_ms: number,
  report: CallReport,
): Promise<HandlerResponse> {
  const request = readRequest(incoming)
  const context = new CallContext(method, incoming, deadline_ms)
  const response = await invoke(handler, request, context, {
    timeout_ms: deadline_ms - clock.monotonic_ms(),
    onCancelled: incoming.onCancelled,
    onLateFailure: report.failedLate,
  })
  if (!isInit(response)) throw new TypeError('the handler returned no message')
  const message = create(method.output, response)
  const bytes = toBinary(method.output, message)
  if (bytes.length > MESSAGE_MAX_BYTES)
    throw new RangeError(`a response of ${bytes.length} bytes is too large`)
  return { message, bytes }
}

function readRequest(incoming: IncomingCall): Message {
  try {
    return incoming.request()
  } catch {
    throw new RpcStatusError(Code.InvalidArgument, 'the request is not a message of this method')
  }
}

function isInit(value: unknown): value is MessageInitShape<DescMessage> {
  return typeof value === 'object' && value !== null
}
