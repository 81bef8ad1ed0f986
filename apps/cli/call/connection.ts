import type {
  DescField,
  DescMessage,
  DescMethodServerStreaming,
  DescMethodUnary,
  Message,
  MessageShape,
} from '@bufbuild/protobuf'
import { clock } from '#lib/base/time.ts'
import type { CommonFlags } from '../request/common-flags.ts'
import { CommandError, type Terminal } from '../terminal.ts'
import { type Content, callStream, callUnary, RpcError, transfer } from './connect-protocol.ts'
import { isInsecure } from './insecure-address.ts'
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
  /** Sends a file or asks for one; `use` reads the answer. Throws as `call` does. */
  transfer<T>(
    method: 'GET' | 'PUT',
    path: string,
    content: Content | undefined,
    use: (answer: Response) => Promise<T>,
  ): Promise<T>
}

/** The back office gives a file five minutes. */
const TRANSFER_MAX_MS = 300_000
const SILENCE_MAX_MS = 45_000

/** What goes with every call of a command. */
interface CallOptions {
  /** Goes into the audit trail. */
  readonly reason?: string | undefined
  /** How long an answer is waited for. */
  readonly timeout_ms?: number | undefined
  /** The field of requests that an argument of the command fills. */
  readonly argument?: string | undefined
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
  {
    sends_reason = true,
    argument,
  }: { readonly sends_reason?: boolean; readonly argument?: string | undefined } = {},
): Connection {
  const { reason, timeout } = flags
  const seconds = timeout === undefined ? undefined : Number(timeout)
  if (seconds !== undefined && !(seconds > 0 && seconds <= TIMEOUT_MAX_S))
    throw new CommandError(2, `--timeout takes a number of seconds up to ${TIMEOUT_MAX_S}`)
  const account = findAccount(flags, terminal)
  if (isInsecure(account.url) && account.insecure !== true)
    terminal.stderr.write(
      `the token goes to ${account.url} without encryption: use https, or accept it by "login --insecure" or MULTIHUB_INSECURE=true\n`,
    )
  return connect(account, {
    reason: sends_reason ? reason : undefined,
    argument,
    timeout_ms: seconds && Math.ceil(seconds * 1_000),
  })
}

/** Opens the connection to an account. */
export function connect(
  { url, token }: Account,
  { reason, argument, timeout_ms = TIMEOUT_MS }: CallOptions = {},
): Connection {
  let server_release: string | undefined
  const headers = {
    authorization: `Bearer ${token}`,
    // A header has no characters above U+00FF.
    ...(reason !== undefined && { 'x-multihub-reason': encodeURIComponent(reason) }),
  }
  const failureOf = (error: unknown, fields: readonly DescField[]): unknown =>
    error instanceof RpcError
      ? toCommandError(error, { url, fields, argument, release: server_release })
      : error
  /** Runs a call, which ends when its time is over. */
  const within = async <T>(
    limit_ms: number,
    fields: readonly DescField[],
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const controller = new AbortController()
    const timeout = clock.after(limit_ms, () => controller.abort())
    try {
      return await run(controller.signal)
    } catch (error) {
      throw failureOf(controller.signal.aborted ? tooLate(limit_ms) : error, fields)
    } finally {
      timeout.cancel()
    }
  }
  return {
    async *stream(method, request) {
      const controller = new AbortController()
      const { signal } = controller
      try {
        yield* withoutSilence(callStream(method, request, { url, headers, signal }), controller)
      } catch (error) {
        if (signal.aborted) throw new CommandError(3, `nothing comes from ${url} any more`, { cause: error })
        throw failureOf(error, method.input.fields)
      } finally {
        controller.abort()
      }
    },
    transfer: (method, path, content, use) =>
      within(TRANSFER_MAX_MS, [], async (signal) =>
        use(await transfer(method, path, content, { url, headers, signal })),
      ),
    call: (method, request) =>
      within(timeout_ms, method.input.fields, async (signal) => {
        const limits = { ...headers, 'connect-timeout-ms': String(timeout_ms) }
        const answer = await callUnary(method, request, { url, headers: limits, signal })
        server_release = answer.headers.get(RELEASE_HEADER) ?? server_release
        return answer.message
      }),
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
