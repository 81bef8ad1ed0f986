import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type Message,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { withRequest } from '#lib/base/context.ts'
import { clock } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Log } from '#lib/telemetry/log.ts'
import { level } from '#lib/telemetry/metrics.ts'
import { inSpan, type SpanDescription } from '#lib/telemetry/span.ts'
import type { AuthenticateCaller } from '../credentials/authenticate.ts'
import { RpcStatusError, toCallerError } from '../errors/rpc-status-error.ts'
import { CALLS_MAX, MESSAGE_MAX_BYTES } from '../limits.ts'
import type { CallerName, RpcService } from '../service.ts'
import { CallContext } from './handler-context.ts'
import { type CallHead, type CallRequestContext, type IncomingCall, requestContextOf } from './incoming.ts'
import { type Handler, invoke } from './invoke.ts'
import { type CallReport, createReport } from './report.ts'

/** The response of a handler: its message and the encoded bytes. Encoding here shows a bad response as our fault. */
export interface HandlerResponse {
  readonly message: Message
  readonly bytes: Uint8Array
}

/** One method of a service, ready to be called over any transport. */
export interface RpcEndpoint {
  readonly method: DescMethodUnary
  /**
   * Refuses a call whose caller is unknown or not permitted, before its message is read. It throws like `call`, which
   * checks the caller in any case.
   */
  checkCaller(head: CallHead): Promise<void>
  /** Runs the call. It throws only a `ConnectError` that the caller may see unchanged. */
  call(incoming: IncomingCall): Promise<HandlerResponse>
}

/** Creates the endpoints of a service. Throws when one of its RPCs cannot be served. */
export type Dispatcher = (service: RpcService) => readonly RpcEndpoint[]

const calls_in_flight = level('multihub_rpc_in_flight', 'RPCs that this process is serving.').of({})

/**
 * Creates the dispatcher of a process. Calls over every transport (in memory, gRPC, Connect) go through it, so that
 * authentication, permissions, deadlines, errors, log and metrics are the same for all.
 */
export function createDispatcher(authenticate: AuthenticateCaller, log: Log): Dispatcher {
  let in_progress = 0
  const identify = ({ caller }: CallHead): CallerName | undefined => {
    if (typeof caller === 'string') return caller
    try {
      return authenticate(caller)
    } catch (error) {
      log.error({ error, part: 'rpc' }, 'authentication of a caller failed with a fault; the call is refused')
      return undefined
    }
  }

  function createEndpoint(service: RpcService, method: DescMethodUnary): RpcEndpoint {
    const handler = handlerOf(service, method)
    const permitted = new Set(service.permissions[method.localName] ?? [])
    const report = createReport(method, log)
    const span: SpanDescription = { name: `${method.parent.typeName}/${method.name}`, kind: 'server' }
    const entry_span: SpanDescription = { ...span, begins_trace: true }

    /** Does `work` for a caller that may call the method. Reports a failure and throws it as the caller may see it. */
    async function admitted<T>(
      head: CallHead,
      started_ms: number,
      work: (context: CallRequestContext) => Promise<T>,
    ): Promise<T> {
      const caller = identify(head)
      const context = requestContextOf(head, caller, started_ms)
      return withRequest(context, async () => {
        try {
          admit(method, caller, permitted)
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
      checkCaller: (head) => admitted(head, clock.monotonic_ms(), async () => undefined),
      async call(incoming) {
        const started_ms = clock.monotonic_ms()
        in_progress += 1
        calls_in_flight.value += 1
        try {
          return await admitted(incoming, started_ms, async ({ deadline_ms, caller }) => {
            if (in_progress > CALLS_MAX) throw new Unavailable(`more than ${CALLS_MAX} calls are in progress`)
            // Other roles call as part of a request or in the background, such as once per second for their caches.
            const is_person = caller === 'operator' || caller === 'internal'
            const response = await inSpan(is_person ? entry_span : span, () =>
              run(method, handler, incoming, deadline_ms, report),
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

  return (service) =>
    service.descriptor.methods.map((method) => {
      if (isUnary(method)) return createEndpoint(service, method)
      throw new TypeError(
        `${method.parent.typeName}/${method.name} is a stream: only unary RPCs are supported`,
      )
    })
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === 'unary'
}

function handlerOf(service: RpcService, method: DescMethodUnary): Handler {
  const handler = service.implementation[method.localName]
  if (typeof handler !== 'function')
    throw new TypeError(`${method.parent.typeName}/${method.name} has no implementation`)
  return handler.bind(service.implementation)
}

function admit(method: DescMethodUnary, caller: CallerName | undefined, permitted: Set<CallerName>): void {
  if (caller === undefined)
    throw new RpcStatusError(Code.Unauthenticated, 'the call has no known token or client certificate')
  if (!permitted.has(caller))
    throw new RpcStatusError(
      Code.PermissionDenied,
      `${caller} may not call ${method.parent.typeName}/${method.name}`,
    )
}

async function run(
  method: DescMethodUnary,
  handler: Handler,
  incoming: IncomingCall,
  deadline_ms: number,
  report: CallReport,
): Promise<HandlerResponse> {
  const request = readRequest(incoming)
  const context = new CallContext(method, incoming.protocol, deadline_ms, incoming.headers)
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
