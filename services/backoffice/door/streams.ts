import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  Message,
  MessageShape,
} from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { createKeyedCount, once } from '#lib/base/limit.ts'
import { clock, every, sleep } from '#lib/base/time.ts'
import { RpcStatusError, toCallerError } from '#lib/rpc/errors.ts'
import type { Log } from '#lib/telemetry/log.ts'
import { nameOfRpc, type OperatorRpc } from '../domain/operator-rpcs.ts'

/*
 * The messages of a stream:
 *
 *     client                 back office                        owner
 *       | open(cursor) -------> | take slots, read first page -----> |
 *       | <------------ first   |                                    |
 *       |                       | every 400 ms: poll(cursor) ------> |
 *       | <----- news, cursor   | <----------------- page or nothing |
 *       | <-- empty after 15 s  | every 500 ms: check the token      |
 *       | gone, 15 min, drain,  |                                    |
 *       |  or no right -------> | free the slots                     |
 */

/** A stream that was opened: its first message, and the read of the next one. */
export interface OpenedStream {
  readonly first: Message
  /** Asks the owner for what is new; `undefined` when nothing is. */
  poll(): Promise<Message | undefined>
  /** A message without news, with the present cursor. */
  empty(): Message
}

/** Begins a stream for a request whose form and merchant were checked. Throws the refusal of a request. */
export type OpenStream = (request: Message) => Promise<OpenedStream>

/** An entry of the table of streams: an RPC, and how its streams begin. */
export function streamOf<I extends DescMessage>(
  method: DescMethodServerStreaming<I>,
  open: (request: MessageShape<I>) => Promise<OpenedStream>,
): readonly [DescMethod, OpenStream] {
  // The door calls the function with requests of this RPC only.
  return [method, (request) => open(request as MessageShape<I>)]
}

/** What runs the streams of a process. */
interface StreamDeps {
  readonly openers: ReadonlyMap<DescMethod, OpenStream>
  /** Aborts when the process will stop: streams end then, and clients go on at another process. */
  readonly draining: AbortSignal
  readonly log: Log
}

/** Whose stream it is, and how to find out whether its token still counts. */
export interface StreamCaller {
  readonly principal_id: string
  /** The merchant of the principal; all principals of a merchant share its stream slots. */
  readonly merchant_id?: string | undefined
  /** Throws the refusal of a caller that may not call the RPC any more. */
  readonly checkAgain: () => Promise<void>
}

/** How often the owner is asked for news. With the time that news need to be stored, they arrive within a second. */
const POLL_MS = 400
/** With the second that an answer of the store is used, a revoked token ends its streams within 2 s (O3, O20). */
const CHECK_MS = 500
const EMPTY_MESSAGE_MS = 15_000
const LIFETIME_MS = 15 * 60_000
const STREAMS_MAX = 200
const PRINCIPAL_STREAMS_MAX = 20
const MERCHANT_STREAMS_MAX = 40

/** The streams of a process. */
export type Streams = ReturnType<typeof createStreams>

/**
 * Creates the streams of the door (O20). A client that reads slowly uses no memory: the next `poll` waits until it has read the last
 * message. The owner does not stream; it answers pages.
 */
export function createStreams({ openers, draining, log }: StreamDeps) {
  const count = createKeyedCount()

  /** Takes a slot for a stream in each limit, and returns what frees them. Throws RESOURCE_EXHAUSTED. */
  function takeSlot({ principal_id, merchant_id }: StreamCaller): () => void {
    const taken: (() => void)[] = []
    const limits: readonly (readonly [string, number])[] = [
      ['all', STREAMS_MAX],
      [`principal ${principal_id}`, PRINCIPAL_STREAMS_MAX],
      ...(merchant_id === undefined ? [] : [[`merchant ${merchant_id}`, MERCHANT_STREAMS_MAX] as const]),
    ]
    const freeSlots = once(() => {
      for (const free of taken) free()
    })
    for (const [name, max] of limits) {
      const free = count.begin(name, max)
      if (free === undefined) {
        freeSlots()
        throw new RpcStatusError(
          Code.ResourceExhausted,
          `a principal has at most ${PRINCIPAL_STREAMS_MAX} streams, a merchant ${MERCHANT_STREAMS_MAX}, and a process ${STREAMS_MAX}`,
        )
      }
      taken.push(free)
    }
    return freeSlots
  }

  return {
    /** Opens a stream. Its other messages come from `messages`, until the client has gone. */
    async open(
      rpc: OperatorRpc,
      request: Message,
      caller: StreamCaller,
    ): Promise<{
      readonly first: Message
      readonly messages: (gone: AbortSignal) => AsyncGenerator<Message>
    }> {
      const opener = openers.get(rpc.method)
      if (opener === undefined) throw new TypeError(`${nameOfRpc(rpc.method)} has no stream`)
      if (draining.aborted) throw new RpcStatusError(Code.Unavailable, 'this process is about to stop')
      const freeSlot = takeSlot(caller)
      try {
        const opened = await opener(request)
        const watch = watchCaller(caller.checkAgain, draining, freeSlot)
        return {
          first: opened.first,
          messages(gone) {
            onAbort(gone, watch.end)
            return sendMessages(opened, watch, log)
          },
        }
      } catch (error) {
        freeSlot()
        throw error
      }
    },
  }
}

/** Watches over a stream until it ends. */
interface StreamWatch {
  /** Aborts at the end of the lifetime, when the client has gone, when the process drains, and without a right to go on. */
  readonly ended: AbortSignal
  /** The refusal of the caller, if that ended the stream. */
  refusal(): unknown
  end(): void
}

function watchCaller(
  checkAgain: () => Promise<void>,
  draining: AbortSignal,
  freeSlot: () => void,
): StreamWatch {
  const controller = new AbortController()
  let refusal: unknown
  const end = (): void => controller.abort()
  const lifetime = clock.after(LIFETIME_MS, end)
  const checks = every(CHECK_MS, checkAgain, (error) => {
    // A store that does not answer says nothing about the caller; the owner of the news is asked in any case.
    const { code } = toCallerError(error)
    if (code !== Code.Unauthenticated && code !== Code.PermissionDenied) return
    refusal = error
    end()
  })
  // A client that reads nothing more keeps the generator from its end, so the slot is free before that.
  onAbort(controller.signal, () => {
    lifetime.cancel()
    checks.cancel()
    draining.removeEventListener('abort', end)
    freeSlot()
  })
  onAbort(draining, end)
  return { ended: controller.signal, refusal: () => refusal, end }
}

function onAbort(signal: AbortSignal, action: () => void): void {
  if (signal.aborted) action()
  else signal.addEventListener('abort', action, { once: true })
}

async function* sendMessages(
  opened: OpenedStream,
  { ended, refusal, end }: StreamWatch,
  log: Log,
): AsyncGenerator<Message> {
  try {
    let sent_ms = clock.monotonic_ms()
    while (!ended.aborted) {
      const news = await opened.poll()
      if (ended.aborted) break
      const is_silent = clock.monotonic_ms() - sent_ms >= EMPTY_MESSAGE_MS
      const message = news ?? (is_silent ? opened.empty() : undefined)
      if (message === undefined) await sleep(POLL_MS, ended)
      else {
        yield message
        sent_ms = clock.monotonic_ms()
      }
    }
    const error = refusal()
    if (error !== undefined) throw error
  } catch (error) {
    log.info({ error, part: 'stream' }, 'a stream ended with an error')
    throw toCallerError(error)
  } finally {
    end()
  }
}
