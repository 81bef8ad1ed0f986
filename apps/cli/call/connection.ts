import type { DescMethodServerStreaming, DescMethodUnary, DescService, Message } from '@bufbuild/protobuf'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { createConnectTransport } from '@connectrpc/connect-web'
import { ErrorDetailSchema } from '#gen/multihub/common/v1/error_pb.ts'
import { readBuildInfo } from '#lib/base/build-info.ts'
import { clock } from '#lib/base/time.ts'
import { CommandError } from '../terminal.ts'
import type { Account } from './profile.ts'

/** Calls RPCs of the back office. */
export interface Connection {
  /** Calls a unary RPC. Throws `CommandError` 1 for a refusal and 3 when nothing answers. */
  call(service: DescService, method: DescMethodUnary, request: Message): Promise<Message>
  /** Calls an RPC that answers with a stream. Throws as `call` does, also in the middle of the stream. */
  stream(service: DescService, method: DescMethodServerStreaming, request: Message): AsyncIterable<Message>
}

const RELEASE_HEADER = 'multihub-release'

/** The refusals that mean that there is no server, or none that can work now. */
const UNREACHABLE: ReadonlySet<Code> = new Set([Code.Unavailable, Code.DeadlineExceeded, Code.Unknown])

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
        throw toCommandError(ConnectError.from(error), url, server_release)
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
        throw toCommandError(ConnectError.from(error), url, server_release)
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

/** The sentence of a refusal: its code and message, what failed in detail, and the request id. Never a stack. */
function toCommandError(error: ConnectError, url: string, seen: string | undefined): CommandError {
  const release = error.metadata.get(RELEASE_HEADER) ?? seen
  const { version } = readBuildInfo()
  const [detail] = error.findDetails(ErrorDetailSchema)
  const request_id = error.metadata.get('x-request-id')
  const parts = [
    error.rawMessage,
    detail?.detailsJson === undefined || detail.detailsJson === '' ? '' : detail.detailsJson,
    request_id === null ? '' : `(request ${request_id})`,
    hintOf(error, detail?.detailsJson ?? ''),
    release !== undefined && release !== null && release !== version && isOfRelease(error)
      ? `the server has release ${release}, this command ${version}`
      : '',
  ].filter((part) => part !== '')
  const options = { cause: error }
  if ((release === undefined || release === null) && UNREACHABLE.has(error.code))
    return new CommandError(3, `no back office answers at ${url}: ${error.rawMessage}`, options)
  if (UNREACHABLE.has(error.code)) return new CommandError(3, parts.join(' '), options)
  const code = detail?.code ?? Code[error.code].replace(/(?!^)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase()
  return new CommandError(1, `refused ${code}: ${parts.join(' ')}`, options)
}

/** Whether another release can be the cause: an RPC or a field that the server does not know. */
function isOfRelease({ code, rawMessage }: ConnectError): boolean {
  return code === Code.Unimplemented || rawMessage.includes('unknown field')
}

function hintOf({ code }: ConnectError, details_json: string): string {
  const approval_id = /"approval_id":"([^"]+)"/.exec(details_json)?.[1]
  if (approval_id !== undefined)
    return `\na second person decides: multihub approvals approve ${approval_id} --reason "..."`
  if (code === Code.Unauthenticated) return '\nrun "multihub login", or give --token'
  return ''
}
