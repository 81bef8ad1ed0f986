import type { DescMethodServerStreaming, DescMethodUnary, DescService, Message } from '@bufbuild/protobuf'
import { ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import { clock } from '#lib/base/time.ts'
import { CommandError } from '../terminal.ts'
import type { Account } from './profile.ts'
import { RELEASE_HEADER, toCommandError } from './refusal.ts'

/** Calls RPCs of the back office. */
export interface Connection {
  /** Calls a unary RPC. Throws `CommandError` 1 for a refusal and 3 when nothing answers. */
  call(service: DescService, method: DescMethodUnary, request: Message): Promise<Message>
  /** Calls an RPC that answers with a stream. Throws as `call` does, also in the middle of the stream. */
  stream(service: DescService, method: DescMethodServerStreaming, request: Message): AsyncIterable<Message>
}

const SILENCE_MAX_MS = 45_000

/** Opens the connection of a command. `reason` goes with the headers of every call. */
export function connect({ url, token }: Account, reason: string | undefined): Connection {
  let server_release: string | undefined
  const transport = createConnectTransport({
    baseUrl: url,
    useBinaryFormat: true,
    interceptors: [
      (next) => async (request) => {
        request.header.set('authorization', `Bearer ${token}`)
        // A header has no characters above U+00FF.
        if (reason !== undefined) request.header.set('x-multihub-reason', encodeURIComponent(reason))
        const response = await next(request)
        server_release = response.header.get(RELEASE_HEADER) ?? server_release
        return response
      },
    ],
  })
  return {
    async *stream(service, method, request) {
      const client = createClient(service, transport) as unknown as Readonly<
        Record<string, (request: Message, options: { signal: AbortSignal }) => AsyncIterable<Message>>
      >
      const controller = new AbortController()
      const { signal } = controller
      try {
        yield* withoutSilence(client[method.localName]?.(request, { signal }), controller)
      } catch (error) {
        if (signal.aborted) throw new CommandError(3, `nothing comes from ${url} any more`, { cause: error })
        throw toCommandError(ConnectError.from(error), { url, input: method.input, release: server_release })
      } finally {
        controller.abort()
      }
    },
    async call(service, method, request) {
      const client = createClient(service, transport) as unknown as Readonly<
        Record<string, (request: Message) => Promise<Message>>
      >
      try {
        return (await client[method.localName]?.(request)) as Message
      } catch (error) {
        throw toCommandError(ConnectError.from(error), { url, input: method.input, release: server_release })
      }
    },
  }
}

/**
 * The messages of a stream, which ends when none comes for too long: a server sends one every 15 s, and a connection that broke while
 * this machine slept says nothing by itself. What the caller does with a message takes as long as it takes.
 */
async function* withoutSilence(
  messages: AsyncIterable<Message> | undefined,
  controller: AbortController,
): AsyncGenerator<Message> {
  const iterator = messages?.[Symbol.asyncIterator]()
  for (;;) {
    const silence = clock.after(SILENCE_MAX_MS, () => controller.abort())
    try {
      const next = await iterator?.next()
      if (next === undefined || next.done) return
      silence.cancel()
      yield next.value
    } finally {
      silence.cancel()
    }
  }
}
