import { create, fromBinary, type Message, toJson } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { AttachmentSchema } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import {
  AttachmentService,
  GetAttachmentRequestSchema,
  type GetAttachmentResponse,
  OpenEvidenceUploadRequestSchema,
  type OpenEvidenceUploadResponse,
} from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { createKeyedCount } from '#lib/base/limit.ts'
import { clock } from '#lib/base/time.ts'
import { DOWNLOAD_PATH, isAttachmentType, UPLOAD_PATH } from '#lib/contract/attachments.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { createStreamClient, type StreamHandler } from '#lib/http/internal-link.ts'
import {
  downloadHeaders,
  INTERNAL_DOWNLOAD_PATH,
  INTERNAL_UPLOAD_PATH,
  pipeDownload,
  readShort,
  sendTransfer,
} from '#lib/patterns/attachment-transfer.ts'
import type { RoleContext } from '#lib/role/role.ts'
import { fromConnectError, RpcStatusError } from '#lib/rpc/errors.ts'
import { connection_caller_key } from '#lib/rpc/server/connect-listener.ts'
import type { RpcEndpoint } from '#lib/rpc/server/dispatch.ts'
import type { AuthenticatePrincipal } from './authenticate.ts'
import { type HttpExchange, type HttpPath, sendJson } from './http-paths.ts'
import { principal_key } from './operator-endpoints.ts'

interface FilePathsDeps {
  readonly endpoints: readonly RpcEndpoint[]
  readonly authenticate: AuthenticatePrincipal
  /** Sends a stream to the attachments service. */
  readonly sendToAttachments: StreamHandler
}

/** Opens the way to the bytes of attachments, in this process or another one, and the paths of files. */
export function openFiles(
  { streamsOf, tls }: Pick<RoleContext<'backoffice'>, 'streamsOf' | 'tls'>,
  attachments_url: string,
  deps: Omit<FilePathsDeps, 'sendToAttachments'>,
) {
  const client = createStreamClient(attachments_url, tls)
  const sendToAttachments = streamsOf?.('attachments') ?? client.send
  return { paths: createFilePaths({ ...deps, sendToAttachments }), close: client.close }
}

/** Enough for 10 MiB over a very slow line. */
const TRANSFER_MAX_MS = 300_000
const TRANSFERS_MAX = 128
const CALLER_TRANSFERS_MAX = 16

/**
 * The paths of files (O21). The RPC that gives the link to the bytes is called first, so that rights, audit and the merchant of a
 * principal are those of RPCs. The bytes pass through without being kept.
 */
function createFilePaths({ endpoints, authenticate, sendToAttachments }: FilePathsDeps): readonly HttpPath[] {
  const { getAttachment, openEvidenceUpload } = AttachmentService.method
  const callRpc = createCalls(endpoints)
  const beginTransfer = createTransfers()
  return [
    {
      method: 'GET',
      path: '/files/:attachment_id',
      async serve(exchange) {
        const { head, caller, response } = exchange
        // A navigation of the own page has no header of its own; that of another site has no cookie.
        const principal = await authenticate(caller, 'site')
        head.values?.set(principal_key, principal)
        const request = create(GetAttachmentRequestSchema, identityOf(exchange))
        const { attachment, download: link } = (await callRpc(
          getAttachment,
          exchange,
          request,
        )) as GetAttachmentResponse
        if (attachment === undefined || link === undefined || !isAttachmentType(attachment.mimeType))
          throw new PublicError(13001)
        const { mimeType: mime_type, sizeBytes: size_bytes } = attachment
        const transfer = beginTransfer(exchange)
        const path = INTERNAL_DOWNLOAD_PATH + link.path.slice(DOWNLOAD_PATH.length)
        try {
          const { signal } = transfer
          const download = await sendTransfer({ sendToAttachments }, { method: 'GET', path, signal })
          response.writeHead(200, downloadHeaders({ mime_type, size_bytes: Number(size_bytes) }, download))
          await pipeDownload(download.body, response, signal)
        } finally {
          transfer.end()
        }
      },
    },
    {
      method: 'PUT',
      path: '/files/:attachment_id',
      async serve(exchange) {
        const { request, response } = exchange
        const opened = create(OpenEvidenceUploadRequestSchema, identityOf(exchange))
        const { attachment, upload: link } = (await callRpc(
          openEvidenceUpload,
          exchange,
          opened,
        )) as OpenEvidenceUploadResponse
        if (attachment === undefined || link === undefined) throw new PublicError(13001)
        checkHead(exchange, attachment)
        const transfer = beginTransfer(exchange)
        try {
          const { body } = await sendTransfer(
            { sendToAttachments },
            {
              method: 'PUT',
              path: INTERNAL_UPLOAD_PATH + link.path.slice(UPLOAD_PATH.length),
              headers: { 'content-length': `${attachment.sizeBytes}` },
              // The request stays open when it is not read to its end, so that its response can be sent.
              body: request.iterator({ destroyOnReturn: false }),
              signal: transfer.signal,
            },
          )
          const stored = fromBinary(AttachmentSchema, await readShort(body))
          sendJson(response, { attachment: toJson(AttachmentSchema, stored) })
        } finally {
          transfer.end()
        }
      },
    },
  ]
}

/** Creates the calls of RPCs of the door for a request that is not one. */
function createCalls(endpoints: readonly RpcEndpoint[]) {
  const endpoint_of = new Map(endpoints.map((endpoint) => [endpoint.method, endpoint]))
  return async (method: RpcEndpoint['method'], { head }: HttpExchange, request: Message) => {
    const endpoint = endpoint_of.get(method)
    if (endpoint === undefined) throw new TypeError(`${method.name} is not served`)
    try {
      return (await endpoint.call({ ...head, request: () => request })).message
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error
      const detail = error.details.length === 0 ? undefined : fromConnectError(error)
      throw new RpcStatusError(error.code, error.rawMessage, detail)
    }
  }
}

/** What the path and the query name. A principal of a merchant may leave `merchant_id` out. */
function identityOf({ parameters, url }: HttpExchange) {
  const environment = url.searchParams.get('environment')
  if (environment !== 'test' && environment !== 'production')
    throw fieldError(environment === null ? 1005 : 9000, 'environment', 'test or production')
  return {
    attachmentId: parameters['attachment_id'] ?? '',
    merchantId: url.searchParams.get('merchant_id') ?? '',
    environment: ENVIRONMENTS.toProto(environment),
  }
}

/** Refuses an upload that cannot be right before its first byte (F2): 1006 for the type, 1005 and 9000 for the length. */
function checkHead(
  { header }: HttpExchange,
  { mimeType, sizeBytes }: { readonly mimeType: string; readonly sizeBytes: bigint },
): void {
  if (header('content-type') !== mimeType || header('content-encoding') !== undefined)
    throw new PublicError(1006)
  const length = header('content-length')
  if (length === undefined) throw fieldError(1005, 'content-length')
  if (length !== `${sizeBytes}`) throw fieldError(9000, 'content-length', `${sizeBytes} bytes`)
}

/** Creates the beginning of transfers, which no caller can have all of, and none for longer than 5 minutes. */
function createTransfers() {
  const count = createKeyedCount()
  return ({ head, response }: HttpExchange) => {
    const caller = head.values?.get(connection_caller_key) ?? ''
    const endOwn = count.begin(`of ${caller}`, CALLER_TRANSFERS_MAX)
    const endOne = endOwn && count.begin('all', TRANSFERS_MAX)
    if (endOwn === undefined || endOne === undefined) {
      endOwn?.()
      throw new RpcStatusError(Code.ResourceExhausted, 'too many files are being transferred; try again')
    }
    const ending = new AbortController()
    const timeout = clock.after(TRANSFER_MAX_MS, () => ending.abort())
    const end = (): void => {
      timeout.cancel()
      endOwn()
      endOne()
      ending.abort()
    }
    response.once('close', end)
    return { signal: ending.signal, end }
  }
}
