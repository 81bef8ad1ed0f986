import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  Message,
  MessageShape,
} from '@bufbuild/protobuf'
import { clock } from '#lib/base/time.ts'
import type { CommonFlags } from '../request/common-flags.ts'
import { CommandError, type Terminal } from '../terminal.ts'
import { callStream, callUnary, RpcError } from './connect-protocol.ts'
import { type Account, findAccount } from './profile.ts'
import { RELEASE_HEADER, toCommandError } from './refusal.ts'

/** Calls RPCs of the back office. */
export interface Connection {
  /** Calls a unary RPC. Throws `CommandError` 1 for a refusal and 3 when nothing answers in time. */
  call<O extends DescMessage>(
    method: DescMethodUnary<DescMessage, O>,
    request: Message,
  ): Promise<MessageShape<O>>
  /** Calls an RPC that answers with a stream. Throws as `call` does, also in the middle of the stream. */
  stream<O extends DescMessage>(
    method: DescMethodServerStreaming<DescMessage, O>,
    request: Message,
  ): AsyncIterable<MessageShape<O>>
}

const SILENCE_MAX_MS = 45_000

/** What goes with every call of a command. */
interface CallOptions {
  /** Goes into the audit trail. */
  readonly reason?: string | undefined
  /** How long an answer is waited for. */
  readonly timeout_ms?: number | undefined
}

const TIMEOUT_MS = 30_000

/** The longest time that a back office works on one call. */
const TIMEOUT_MAX_S = 120

/**
 * Opens the connection of a command to the account of its flags, with its `--reason` unless a field of the request has that. Throws
 * `CommandError` 2.
 */
export function openConnection(
  flags: CommonFlags,
  terminal: Terminal,
  { sends_reason = true }: { readonly sends_reason?: boolean } = {},
): Connection {
  const { reason, timeout } = flags
  const seconds = timeout === undefined ? undefined : Number(timeout)
  if (seconds !== undefined && !(seconds > 0 && seconds <= TIMEOUT_MAX_S))
    throw new CommandError(2, `--timeout takes a number of seconds up to ${TIMEOUT_MAX_S}`)
  return connect(findAccount(flags, terminal), {
    reason: sends_reason ? reason : undefined,
    timeout_ms: seconds && Math.ceil(seconds * 1_000),
  })
}

/** Opens the connection to an account. */
export function connect(
  { url, token }: Account,
  { reason, timeout_ms = TIMEOUT_MS }: CallOptions = {},
): Connection {
  let server_release: string | undefined
  const headers = {
    authorization: `Bearer ${token}`,
    // A header has no characters above U+00FF.
    ...(reason !== undefined && { 'x-multihub-reason': encodeURIComponent(reason) }),
  }
  const failureOf = (error: unknown, { input }: DescMethod): unknown =>
    error instanceof RpcError ? toCommandError(error, { url, input, release: server_release }) : error
  return {
    async *stream(method, request) {
      const controller = new AbortController()
      const { signal } = controller
      try {
        yield* withoutSilence(callStream(method, request, { url, headers, signal }), controller)
      } catch (error) {
        if (signal.aborted) throw new CommandError(3, `nothing comes from ${url} any more`, { cause: error })
        throw failureOf(error, method)
      } finally {
        controller.abort()
      }
    },
    async call(method, request) {
      const controller = new AbortController()
      const { signal } = controller
      const timeout = clock.after(timeout_ms, () => controller.abort())
      try {
        const limits = { ...headers, 'connect-timeout-ms': String(timeout_ms) }
        const answer = await callUnary(method, request, { url, headers: limits, signal })
        server_release = answer.headers.get(RELEASE_HEADER) ?? server_release
        return answer.message
      } catch (error) {
        throw failureOf(signal.aborted ? tooLate(timeout_ms) : error, method)
      } finally {
        timeout.cancel()
      }
    },
  }
}

const tooLate = (timeout_ms: number): RpcError =>
  new RpcError('deadline_exceeded', `no answer within ${timeout_ms / 1_000} s; --timeout waits longer`)

/**
 * The messages of a stream, which ends when none comes for too long: a server sends one every 15 s, and a connection that broke while
 * this machine slept says nothing by itself. What the caller does with a message takes as long as it takes.
 */
async function* withoutSilence<M>(
  messages: AsyncIterable<M>,
  controller: AbortController,
): AsyncGenerator<M> {
  const iterator = messages[Symbol.asyncIterator]()
  for (;;) {
    const silence = clock.after(SILENCE_MAX_MS, () => controller.abort())
    try {
      const next = await iterator.next()
      if (next.done) return
      silence.cancel()
      yield next.value
    } finally {
      silence.cancel()
    }
  }
}
